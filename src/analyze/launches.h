// Launches: which work on a device was started by which call on the host. A kernel carries the
// correlation id of the runtime call that launched it; in a trace without such calls the External
// id of the operator has to do. Made in one pass over the device's slices, of a loaded trace or of
// a stream; holds one entry per launch.
//
//   Result<Launches> launches = Launches::build(stream);
//   if (Launches::Launch* launch = launches->find_correlation(id)) device_ns += launch->device_ns;
//
// Slow equivalent: two std::map<int64_t, Launch>. Ids are counters, so a table indexed by the id
// less the first one serves almost all of them; ids that would make it sparse go into a hash map.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyze/flat_map.h"
#include "base/status.h"
#include "trace/slice_stream.h"
#include "trace/trace.h"

namespace stepscope {

class Launches {
 public:
  struct Launch {
    int64_t device_ns = 0;  // kernels, copies and fills together
    int64_t kernel_ns = 0;
    int64_t tensor_core_ns = 0;
    int64_t first_start_ns = INT64_MAX;
    int64_t last_end_ns = INT64_MIN;
    int64_t external_id = 0;
    uint32_t device_slices = 0;
    bool in_operator = false;  // set by an analysis that found the operator
    bool in_step = false;      // set by an analysis that found the step
  };

  static Result<Launches> build(SliceStream& stream);
  // The same of a loaded trace, made once: a copy, for marks of one's own.
  static Result<Launches> build(const Trace& trace);

  bool empty() const { return launches_.empty(); }
  std::span<const Launch> all() const { return launches_; }
  Launch* find_correlation(int64_t id);
  // Finds nothing in a trace with runtime calls.
  Launch* find_external(int64_t id);
  bool has_external() const { return by_external_.size() > 0; }

 private:
  Launch& add(int64_t correlation);
  void add_block(const SliceBlock& block, const SliceStream& stream,
                 const std::vector<uint8_t>& classes);
  void index_external();

  std::vector<Launch> launches_;
  // By id less the first one; 0: none, else one more than the index.
  std::vector<uint32_t> near_correlations_;
  FlatMap far_correlations_;
  int64_t first_correlation_ = 0;
  FlatMap by_external_;
  bool has_calls_ = false;
};

}  // namespace stepscope
