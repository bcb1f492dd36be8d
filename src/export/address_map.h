// AddressMap: addresses on a scale that a person can look at. Programs use a few places far apart
// in an address space of 2^47 bytes; what lies between them is cut out.
//
//   AddressMap map({{0x1000, 64}, {0x7f0000000000, 4096}});
//   map.place(0x7f0000000010);   // bytes from the top: what is used below it, without the gap
//   map.regions();               // the two of them
//
// The gaps that are cut are those longer than the shortest power of 16 that leaves at most
// kMaxRegions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace stepscope {

class AddressMap {
 public:
  static constexpr size_t kMaxRegions = 16;

  struct Region {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t before = 0;  // bytes of the regions before it
  };
  using Range = std::pair<uint64_t, uint64_t>;  // address, bytes

  explicit AddressMap(std::vector<Range> ranges);

  const std::vector<Region>& regions() const { return regions_; }
  uint64_t total_bytes() const { return total_bytes_; }
  // Which region, and how far into all of them together. The address must be in one of the ranges.
  struct Place {
    size_t region = 0;
    uint64_t offset = 0;
  };
  Place place(uint64_t address) const;

 private:
  std::vector<Region> regions_;
  uint64_t total_bytes_ = 0;
};

}  // namespace stepscope
