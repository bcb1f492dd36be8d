// SliceFilter: which tracks and which times the user asked for (--track, --range). Made once per
// analysis.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "analyze/table.h"
#include "base/status.h"
#include "trace/slice_scope.h"
#include "trace/slice_stream.h"
#include "trace/trace.h"

namespace stepscope {

class SliceFilter {
 public:
  static Result<SliceFilter> make(const Trace& trace, const TableOptions& options);

  bool takes_all() const { return takes_all_; }
  bool takes_track(TrackId track) const { return scope_.takes_track(track); }
  bool takes_time(int64_t start_ns) const { return scope_.takes_time(start_ns); }
  const SliceScope& scope() const { return scope_; }

 private:
  SliceScope scope_;
  bool takes_all_ = true;
};

}  // namespace stepscope
