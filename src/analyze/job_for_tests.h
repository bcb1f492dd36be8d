// For tests: the summaries of a job of data-parallel ranks, without traces. Times are in us.
//
//   HandMadeJob made(4);
//   made.rank(2).input_us = 5000;          // slow to load
//   made.rank(3).offset_us = 40'000;       // its clock is ahead
//   Job job = made.build();
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "analyze/job.h"

namespace stepscope {

class HandMadeJob {
 public:
  struct Rank {
    int64_t offset_us = 0;
    int64_t input_us = 1000;
    std::vector<int64_t> kernel_us = {4000, 2000, 1000, 1000};  // of kernels a, b, c, d
    std::vector<int64_t> more_us;  // by step: what it computes beyond that
    int64_t host_us = 0;           // in which nothing happens on the device
    uint64_t calls = 10;           // of each kernel, per step
    size_t skipped_calls = 0;      // collectives at the begin that its trace lacks
    bool is_left_out = false;
  };

  explicit HandMadeJob(size_t ranks, int steps = 6) : steps_(steps), ranks_(ranks) {}

  Rank& rank(size_t number) { return ranks_[number]; }
  bool has_sequence = true;
  int64_t transfer_us = 500;
  bool is_hidden = false;  // communication runs while the optimizer computes

  std::vector<RankSummary> make() const {
    std::vector<RankSummary> summaries(ranks_.size());
    std::vector<int64_t> now(ranks_.size(), 1'000'000);
    for (size_t r = 0; r < ranks_.size(); ++r) begin(summaries[r], r);
    for (int s = 0; s < steps_; ++s) add_step(summaries, now, s);
    for (size_t r = ranks_.size(); r-- > 0;) {
      if (ranks_[r].is_left_out) summaries.erase(summaries.begin() + static_cast<ptrdiff_t>(r));
    }
    return summaries;
  }
  Job build() const { return Job::build(make(), {}); }

 private:
  static int64_t sum(const std::vector<int64_t>& values) {
    int64_t total = 0;
    for (const int64_t value : values) total += value;
    return total;
  }

  void begin(RankSummary& summary, size_t r) const {
    summary.source = "rank" + std::to_string(r) + ".json";
    summary.rank = static_cast<int64_t>(r);
    summary.world_size = static_cast<int64_t>(ranks_.size());
    summary.rank_origin = RankOrigin::kTrace;
    summary.has_device = summary.has_steps = summary.is_training = true;
    summary.groups.push_back({"0", "default_pg", {}, static_cast<int64_t>(ranks_.size())});
    summary.shapes.push_back({CollectiveType::kAllReduce, 0, 4'000'000, "Float"});
    const Rank& rank = ranks_[r];
    for (size_t k = 0; k < rank.kernel_us.size(); ++k) {
      summary.kernels.push_back({std::string(1, static_cast<char>('a' + k)),
                                 rank.calls * static_cast<uint64_t>(steps_),
                                 rank.kernel_us[k] * 1000 * steps_});
    }
  }

  int64_t compute_us(size_t r, int step) const {
    const Rank& rank = ranks_[r];
    const auto at = static_cast<size_t>(step);
    return sum(rank.kernel_us) + (at < rank.more_us.size() ? rank.more_us[at] : 0);
  }

  // All come to one all_reduce and leave it together.
  void add_step(std::vector<RankSummary>& summaries, std::vector<int64_t>& now, int s) const {
    std::vector<int64_t> start;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      start.push_back(now[r] + ranks_[r].input_us + ranks_[r].host_us + compute_us(r, s));
    }
    const int64_t end = *std::max_element(start.begin(), start.end()) + transfer_us;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      const Rank& rank = ranks_[r];
      const auto own = [&](int64_t us) { return (us + rank.offset_us) * 1000; };
      RankStep step;
      step.number = s;
      step.span = {own(now[r]), own(end)};
      step.compute_ns = compute_us(r, s) * 1000;
      step.communication_ns = (end - start[r]) * 1000;
      step.overlap_ns = is_hidden ? step.communication_ns : 0;
      step.idle_ns = (rank.input_us + rank.host_us) * 1000;
      step.phases[static_cast<size_t>(Phase::kInput)] = rank.input_us * 1000;
      summaries[r].steps.push_back(step);
      if (static_cast<size_t>(s) >= rank.skipped_calls) {
        CollectiveCall call;
        call.step = s;
        call.sequence = has_sequence ? s : -1;
        call.start_ns = own(start[r]);
        call.end_ns = own(end);
        call.exposed_from_ns = is_hidden ? call.end_ns : call.start_ns;
        call.exposed_ns = is_hidden ? 0 : call.end_ns - call.start_ns;
        summaries[r].calls.push_back(call);
      }
      now[r] = end;
    }
  }

  int steps_;
  std::vector<Rank> ranks_;
};

}  // namespace stepscope
