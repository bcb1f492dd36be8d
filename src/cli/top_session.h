// TopSession: the samples of a TopSampling, counted, as views that are ready to be drawn.
//
//   TopSession session({.sampler = options, .spans_of_now = 2});
//   std::vector<Status> added = session.start(pids);
//   ... once in a while:
//   if (session.refresh()) draw_top(session.view(), settings, size);
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "cli/top_counts.h"
#include "cli/top_sampling.h"
#include "cli/top_view.h"
#include "collect/sample/sampler.h"

namespace stepscope::cli {

struct TopSessionOptions {
  sample::SamplerOptions sampler;
  int64_t duration_ns = 0;  // 0: until the programs end
  size_t spans_of_now = 1;  // refreshes that are "now"
};

class TopSession {
 public:
  explicit TopSession(const TopSessionOptions& options)
      : options_(options), sampling_(options.sampler, options.duration_ns) {}

  // Says of each process whether it can be sampled; those that can not are in the views' notes.
  std::vector<Status> start(const std::vector<pid_t>& pids);
  // Counts what was sampled since the last time. False where that is nothing.
  bool refresh();
  void reset();
  const TopView& view() const { return view_; }
  // Nothing more will come. What has come is still to be refreshed.
  bool has_ended() const { return sampling_.has_ended(); }
  void stop() { sampling_.stop(); }

 private:
  void make_view();
  std::string find_version(pid_t pid);

  const TopSessionOptions options_;
  TopSampling sampling_;
  std::optional<TopCounts> counts_;
  uint64_t left_out_ = 0;
  std::vector<std::string> notes_;
  std::unordered_map<pid_t, std::string> versions_;
  TopView view_;
};

}  // namespace stepscope::cli
