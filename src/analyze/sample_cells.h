// Which sample stands for which moment of a thread. Marks that were recorded (a DataLoader's
// __next__, an optimizer's step) divide the thread's time into regions, whose lengths are exact; a
// sample tells what went on in the region in which it was taken, and in regions like it for which
// there is none: those of the same marks, or after the same mark, of about the same length. So a
// step of 3 ms that is looked at every 10 ms is put together from the looks at many of them, and
// the sums of all steps are right as far as chance lets them.
//
//   const std::vector<SampleCell> cells = find_sample_cells(regions, looks);
//
// A region with looks is divided among them, each moment for the nearest. Of the others, regions of
// a kind, laid end to end, are one timeline; there too the nearest look counts, up to some periods
// away. The rest has no look.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyze/intervals.h"

namespace stepscope {

struct SampleRegion {
  Interval time;
  uint64_t kind = 0;
};

struct SampleLook {
  int64_t time_ns = 0;
  int64_t weight_ns = 0;
};

inline constexpr uint32_t kNoLook = UINT32_MAX;

struct SampleCell {
  Interval time;
  uint32_t region = 0;
  uint32_t look = kNoLook;
};

// Both by time; regions do not overlap. The cells of all regions, by time.
std::vector<SampleCell> find_sample_cells(std::span<const SampleRegion> regions,
                                          std::span<const SampleLook> looks);

}  // namespace stepscope
