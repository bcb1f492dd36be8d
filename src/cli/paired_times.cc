#include "cli/paired_times.h"

#include <algorithm>
#include <cmath>

namespace stepscope::cli {
namespace {

// How many of n ratios may be left out at each end: the chance that a median lies beyond them is at
// most 1 in 40.
size_t ranks_to_leave_out(size_t n) {
  double chance = std::pow(0.5, static_cast<double>(n));  // that all lie on one side
  double tail = chance;
  size_t left_out = 0;
  while (tail + chance * static_cast<double>(n - left_out) / static_cast<double>(left_out + 1) <=
         0.025) {
    chance *= static_cast<double>(n - left_out) / static_cast<double>(left_out + 1);
    tail += chance;
    ++left_out;
  }
  return left_out;
}

}  // namespace

void PairedTimes::add(double first_s, double second_s) {
  first_.push_back(first_s);
  second_.push_back(second_s);
  ratios_.push_back(first_s > 0 ? second_s / first_s : 1);
}

double PairedTimes::median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 != 0 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::pair<double, double> PairedTimes::interval() const {
  if (ratios_.empty()) return {0, 0};
  std::vector<double> sorted = ratios_;
  std::sort(sorted.begin(), sorted.end());
  const size_t left_out = is_certain() ? ranks_to_leave_out(sorted.size()) : 0;
  return {sorted[left_out], sorted[sorted.size() - 1 - left_out]};
}

bool PairedTimes::is_different() const {
  const auto [low, high] = interval();
  return is_certain() && (high < 1 || low > 1);
}

}  // namespace stepscope::cli
