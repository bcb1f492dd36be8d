#include "export/address_map.h"

#include <algorithm>

namespace stepscope {
namespace {

uint64_t end_of(const AddressMap::Range& range) {
  return range.second > UINT64_MAX - range.first ? UINT64_MAX : range.first + range.second;
}

// Ranges that touch, overlap or are no further apart than `gap`, as one. Sorted by address.
std::vector<AddressMap::Region> merge(const std::vector<AddressMap::Range>& ranges, uint64_t gap) {
  std::vector<AddressMap::Region> regions;
  for (const AddressMap::Range& range : ranges) {
    const uint64_t end = end_of(range);
    if (!regions.empty() &&
        range.first <= regions.back().end + std::min(gap, UINT64_MAX - regions.back().end)) {
      regions.back().end = std::max(regions.back().end, end);
    } else {
      regions.push_back({range.first, end});
    }
  }
  return regions;
}

}  // namespace

AddressMap::AddressMap(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end());
  for (uint64_t gap = 256;; gap *= 16) {
    regions_ = merge(ranges, gap);
    if (regions_.size() <= kMaxRegions || gap > UINT64_MAX / 16) break;
  }
  for (Region& region : regions_) {
    region.before = total_bytes_;
    const uint64_t bytes = region.end - region.begin;
    total_bytes_ += std::min(bytes, UINT64_MAX - total_bytes_);
  }
}

AddressMap::Place AddressMap::place(uint64_t address) const {
  const auto after =
      std::upper_bound(regions_.begin(), regions_.end(), address,
                       [](uint64_t value, const Region& region) { return value < region.begin; });
  if (after == regions_.begin()) return {};
  const Region& region = *(after - 1);
  const uint64_t inside = std::min(address, region.end) - region.begin;
  return {static_cast<size_t>(after - 1 - regions_.begin()), region.before + inside};
}

}  // namespace stepscope
