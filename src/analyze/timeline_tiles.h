// TimelineTiles: what a timeline shows of a track at a level of detail, as bytes that the viewer
// draws from (docs/viewer.md, "Tiles"). The index is made once per trace: the slices of each track
// by depth and start, and for every 16, 256, … of them the longest duration and the last end.
//
//   auto tiles = TimelineTiles::of(trace);
//   std::string bytes;
//   Status status = tiles->append_tile(trace, {.track = 3, .level = 0, .index = 0}, bytes);
//
// Slow equivalent: walk all slices of the track, and per depth and bucket keep the longest of those
// that are small. Here a bucket costs two searches and a descent, however many slices are in it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "trace/trace.h"

namespace stepscope {

inline constexpr uint32_t kTileMagic = 0x4c495453;  // "STIL"
inline constexpr uint32_t kTileBuckets = 512;
inline constexpr uint32_t kTileHeaderBytes = 32;
// Slices of one depth may overlap. So many of two buckets or more that begin in one bucket are
// themselves, the rest is merged; and so many that began before the tile are in it.
inline constexpr uint32_t kMaxLargePerBucket = 8;
inline constexpr uint32_t kMaxReachingIn = 64;

struct TileKey {
  uint32_t track = 0;
  uint32_t level = 0;
  uint64_t index = 0;
};

class TimelineTiles {
 public:
  static std::shared_ptr<const TimelineTiles> of(const Trace& trace);
  explicit TimelineTiles(const Trace& trace);

  uint32_t last_level() const { return span_bits_ - kBucketBits; }
  uint64_t tile_ns(uint32_t level) const { return uint64_t{1} << (span_bits_ - level); }
  // How many levels of nesting the track has.
  uint32_t depth(uint32_t track) const { return first_lane_[track + 1] - first_lane_[track]; }

  // Of a counter's values that are numbers; the least is above the most where there are none.
  struct Extremes {
    double least, most;
  };
  Extremes find_extremes(const Trace& trace, const Track& track) const {
    return find_extremes(trace, track.first_value, track.first_value + track.value_count);
  }

  // `trace` is the one that the index was made of. Fails where there is no such track or tile.
  Status append_tile(const Trace& trace, const TileKey& key, std::string& out) const;

 private:
  static constexpr uint32_t kBucketBits = 9;
  static constexpr uint32_t kFanBits = 4;
  static constexpr uint32_t kFar = UINT32_MAX;

  // Of 16 positions, or of 16 nodes of the level below.
  struct SliceNode {
    int64_t max_dur_ns = INT64_MIN;
    uint64_t max_end = 0;
  };
  struct Summary {
    uint32_t longest = 0;  // the first of the longest
    int64_t longest_ns = INT64_MIN;
    uint64_t last_end = 0;
  };
  struct Tile;   // where a tile lies in time
  struct Items;  // the columns of a tile of slices

  void build_lanes(const Trace& trace);
  void build_starts(const Trace& trace);
  void build_slice_nodes(const Trace& trace);
  void build_value_nodes(const Trace& trace);

  // Times are ns from the trace's begin.
  uint64_t start_of(const Trace& trace, uint32_t position) const;
  uint64_t end_of(const Trace& trace, uint32_t position) const;
  int64_t dur_of(const Trace& trace, uint32_t position) const;
  uint64_t since_begin(const Trace& trace, int64_t time_ns) const;
  uint32_t find_start(const Trace& trace, uint32_t begin, uint32_t end, uint64_t at) const;

  uint32_t find_large(const Trace& trace, uint32_t begin, uint32_t end, int64_t least_ns) const;
  uint32_t find_reaching(const Trace& trace, uint32_t begin, uint32_t end, uint64_t beyond) const;
  Summary summarize(const Trace& trace, uint32_t begin, uint32_t end) const;
  Extremes find_extremes(const Trace& trace, uint64_t begin, uint64_t end) const;

  void add_lane(const Trace& trace, const Tile& tile, uint32_t lane, uint32_t depth,
                Items& items) const;
  void add_bucket(const Trace& trace, const Tile& tile, uint32_t begin, uint32_t end,
                  uint32_t depth, Items& items) const;
  void append_slices(const Trace& trace, const Tile& tile, std::string& out) const;
  void append_counter(const Trace& trace, const Tile& tile, std::string& out) const;

  uint32_t span_bits_ = kBucketBits;
  // A lane is the slices of one depth of one track: positions [lane_begin_[i], lane_begin_[i + 1]).
  std::vector<uint32_t> first_lane_;  // by track, and one more
  std::vector<uint32_t> lane_begin_;  // by lane, and one more
  std::vector<uint32_t> rows_;        // by position: the SliceId
  // What is searched lies close together: a start is its block's least one and 4 bytes more.
  std::vector<uint64_t> block_start_;   // by position / 16
  std::vector<uint32_t> start_offset_;  // by position; kFar: see the trace
  std::vector<uint32_t> short_dur_ns_;  // by position; DurationColumn::kLong: see the trace
  std::vector<std::vector<SliceNode>> slice_nodes_;  // [0]: of 16 positions each
  std::vector<std::vector<Extremes>> value_nodes_;
};

}  // namespace stepscope
