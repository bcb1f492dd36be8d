// What a sample counts: CPU time where it is known, else wall time, and which of the two a user
// asked for. And the rule for where a trace's functions come from.
//
//   const SampleWeights weights(trace.samples(), scope.sample_weight);
//   for (size_t i = 0; i < trace.samples().size(); ++i) sum_ns += weights[i];
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/trace.h"

namespace stepscope {

class SampleWeights {
 public:
  // Borrows the samples. Where none of them used any CPU (a program that hangs) wall time is
  // counted, whatever was asked: nothing else is there to see.
  SampleWeights(const SampleColumns& samples, SampleWeight asked);

  bool is_cpu() const { return is_cpu_; }
  // CPU time is known, was asked for, and there is none.
  bool fell_back() const { return fell_back_; }
  int64_t operator[](size_t row) const {
    if (!is_cpu_) return samples_.weight_ns[row];
    if (samples_.cpu_ns[row] != kNoCpuNs) return samples_.cpu_ns[row];
    return (samples_.get_flags(row) & kSampleWaited) != 0 ? 0 : samples_.weight_ns[row];
  }
  // Whether it is one of the samples that shares are shares of: by CPU, those that did not wait.
  bool counts(size_t row) const {
    if (!is_cpu_) return true;
    return samples_.flags.empty() ? (*this)[row] > 0 : (samples_.flags[row] & kSampleWaited) == 0;
  }

 private:
  const SampleColumns& samples_;
  bool is_cpu_ = false;
  bool fell_back_ = false;
};

// "cpu", "wall", "" for the default; nothing for any other text.
std::optional<SampleWeight> parse_sample_weight(std::string_view text);

// Functions, callers, trees and flame graphs come from samples where there are any, unless calls of
// functions were recorded as well: these are exact. Steps, operators and other marks do not count
// as calls.
bool functions_are_sampled(const Trace& trace);

}  // namespace stepscope
