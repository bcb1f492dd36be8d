// MemoryCurve: the memory of one device over time in as few moments as a picture can show. Time is
// cut into columns; of each, what was held at its lowest, at its highest and at its end is kept, so
// that no peak and no gap is lost and the level between two columns is right.
//
//   MemoryCurve curve(begin_ns, end_ns, 900);
//   timeline.walk({}, [&](const MemoryAtMoment& now) { curve.add(now); });
//   for (const MemoryAtMoment& now : std::move(curve).finish()) …     // at most 2,700, by time
#pragma once

#include <cstdint>
#include <vector>

#include "trace/memory_timeline.h"

namespace stepscope {

class MemoryCurve {
 public:
  MemoryCurve(int64_t begin_ns, int64_t end_ns, uint32_t columns)
      : begin_ns_(begin_ns), end_ns_(end_ns), columns_(columns) {}

  // In order of time.
  void add(const MemoryAtMoment& now);
  std::vector<MemoryAtMoment> finish() &&;

 private:
  uint32_t column_of(int64_t time_ns) const;
  void close_column();

  int64_t begin_ns_;
  int64_t end_ns_;
  uint32_t columns_;
  uint32_t column_ = 0;  // the one that lowest_, highest_ and last_ are of
  bool is_open_ = false;
  MemoryAtMoment lowest_, highest_, last_;
  std::vector<MemoryAtMoment> kept_;
};

}  // namespace stepscope
