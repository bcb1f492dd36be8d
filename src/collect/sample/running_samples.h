// RunningSamples: the looks at a thread that found it running, until it is known how much of that
// was on a core. A thread that runs may stand in line for one; the kernel tells how long it did
// each, but only at its own ticks, or when the thread gets a core or leaves it. So the samples wait
// for the next time that the counts move, and then each gets the same share of its time.
//
//   running.add(sample);
//   if (clock.has_moved()) running.release(clock.ran_ns(), clock.queued_ns(), tell);
#pragma once

#include <cstdint>
#include <vector>

#include "collect/sample/sample_file.h"

namespace stepscope::sample {

class RunningSamples {
 public:
  void add(const Sample& sample) { samples_.push_back(sample); }
  bool empty() const { return samples_.empty(); }
  // So many that they should be released with what is known.
  bool is_full() const { return samples_.size() >= kMost; }

  // What the kernel has counted meanwhile; 0 and 0 where it tells nothing: then as the last time.
  template <typename Tell>
  void release(uint64_t ran_ns, uint64_t queued_ns, Tell&& tell) {
    if (ran_ns + queued_ns > 0) {
      on_core_share_ = static_cast<double>(ran_ns) / static_cast<double>(ran_ns + queued_ns);
    }
    for (Sample& sample : samples_) {
      sample.cpu_ns = static_cast<int64_t>(static_cast<double>(sample.weight_ns) * on_core_share_);
      tell(sample);
    }
    samples_.clear();
  }

 private:
  static constexpr size_t kMost = 256;

  std::vector<Sample> samples_;
  double on_core_share_ = 1;
};

}  // namespace stepscope::sample
