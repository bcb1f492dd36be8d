// PairedTimes: the times of two programs that were run in turns, and whether one is faster. Each
// pair ran on the machine as it was in that minute, so what is compared is the ratio within pairs.
//
//   PairedTimes times;
//   times.add(first_s, second_s);          // once per pair
//   times.ratio();                         // of the second to the first: the median
//   times.interval();                      // in which the true median lies, in 19 of 20 cases
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace stepscope::cli {

class PairedTimes {
 public:
  void add(double first_s, double second_s);

  size_t size() const { return first_.size(); }
  double first_s() const { return median(first_); }
  double second_s() const { return median(second_); }
  double ratio() const { return median(ratios_); }
  // By ranks, so that no shape of the noise is assumed. With fewer than 6 pairs it is all that was
  // seen, which is right in less than 19 of 20 cases: see is_certain().
  std::pair<double, double> interval() const;
  bool is_certain() const { return size() >= kEnough; }
  // Whether the interval leaves no doubt which one is faster.
  bool is_different() const;

 private:
  static constexpr size_t kEnough = 6;
  static double median(std::vector<double> values);

  std::vector<double> first_, second_, ratios_;
};

}  // namespace stepscope::cli
