#include "export/memory_curve.h"

#include <algorithm>
#include <array>
#include <utility>

namespace stepscope {

void MemoryCurve::add(const MemoryAtMoment& now) {
  const uint32_t column = column_of(now.time_ns);
  if (is_open_ && column != column_) close_column();
  if (!is_open_) {
    lowest_ = highest_ = now;
    column_ = column;
    is_open_ = true;
  }
  if (now.total_bytes() < lowest_.total_bytes()) lowest_ = now;
  if (now.total_bytes() > highest_.total_bytes()) highest_ = now;
  last_ = now;
}

std::vector<MemoryAtMoment> MemoryCurve::finish() && {
  if (is_open_) close_column();
  return std::move(kept_);
}

uint32_t MemoryCurve::column_of(int64_t time_ns) const {
  const double span_ns = static_cast<double>(subtract_saturating(end_ns_, begin_ns_));
  if (span_ns <= 0) return 0;
  const double part = static_cast<double>(subtract_saturating(time_ns, begin_ns_)) / span_ns;
  const double column = std::clamp(part, 0.0, 1.0) * columns_;
  return std::min(static_cast<uint32_t>(column), columns_ - 1);
}

void MemoryCurve::close_column() {
  std::array<const MemoryAtMoment*, 3> moments = {&lowest_, &highest_, &last_};
  std::sort(moments.begin(), moments.end(), [](const MemoryAtMoment* a, const MemoryAtMoment* b) {
    return a->time_ns < b->time_ns;
  });
  const size_t first = kept_.size();
  for (const MemoryAtMoment* moment : moments) {
    if (kept_.size() == first || kept_.back().time_ns != moment->time_ns) kept_.push_back(*moment);
  }
  is_open_ = false;
}

}  // namespace stepscope
