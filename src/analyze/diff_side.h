// What a comparison is made from: of each side the mean times per step, by section and name, with
// their noise. diff.cc fills them from two traces, job_diff.cc from two jobs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "analyze/diff.h"
#include "analyze/table.h"
#include "base/status.h"

namespace stepscope {

// A mean over samples (steps, or ranks), from what each had.
class DiffMean {
 public:
  void add(double value) {
    sum_ += value;
    squares_ += value * value;
  }
  double mean(size_t steps) const { return sum_ / static_cast<double>(steps); }
  // Of the mean. Steps in which it did not happen count as 0.
  double error(size_t steps) const {
    if (steps < 2) return 0;
    const auto n = static_cast<double>(steps);
    const double variance = std::max(0.0, squares_ / n - mean(steps) * mean(steps));
    return std::sqrt(variance / (n - 1));
  }

 private:
  double sum_ = 0;
  double squares_ = 0;
};

// What is compared of one trace, by section and name.
struct DiffSide {
  using Key = std::pair<std::string, std::string>;

  size_t steps = 0;  // 0: the whole is compared
  size_t samples() const { return std::max<size_t>(1, steps); }
  // Of sections whose samples are others than steps: how many there are.
  std::map<std::string, size_t> samples_of;
  size_t samples(const std::string& section) const {
    const auto it = samples_of.find(section);
    return it == samples_of.end() ? samples() : std::max<size_t>(1, it->second);
  }
  DiffMean step;
  std::map<Key, DiffMean> times;
};

// The table and its verdict. `has_steps`: in both.
Result<Diff> finish_diff(const DiffSide& before, const DiffSide& after, bool has_steps,
                         const TableOptions& options);

}  // namespace stepscope
