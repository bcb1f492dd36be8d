#include "analyze/timeline_tiles.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace stepscope {
namespace {

constexpr uint32_t kNone = UINT32_MAX;
constexpr uint64_t kMaxTime = uint64_t{INT64_MAX};

static_assert(std::endian::native == std::endian::little, "tiles are written as they lie");

template <typename T>
void append_column(std::string& out, const std::vector<T>& column) {
  out.append(reinterpret_cast<const char*>(column.data()), column.size() * sizeof(T));
}

float to_float(double value) {
  constexpr double kMax = std::numeric_limits<float>::max();
  return static_cast<float>(std::isnan(value) ? value : std::clamp(value, -kMax, kMax));
}

// Begins a tile's head; finish_head() sets what is known at its end.
size_t append_head(const TileKey& key, uint32_t kind, std::string& out) {
  const size_t at = out.size();
  const std::array<uint32_t, 8> head = {
      kTileMagic, key.track, key.level, static_cast<uint32_t>(key.index),
      kind,       0,         0,         static_cast<uint32_t>(key.index >> 32)};
  out.append(reinterpret_cast<const char*>(head.data()), sizeof(head));
  return at;
}

void finish_head(size_t at, size_t count, std::string& out) {
  const std::array<uint32_t, 2> values = {static_cast<uint32_t>(count),
                                          static_cast<uint32_t>(out.size() - at)};
  std::memcpy(out.data() + at + 5 * sizeof(uint32_t), values.data(), sizeof(values));
}

// How many levels up a node at `position` may begin that still ends by `end`.
uint32_t highest_node(uint64_t position, uint64_t end, uint32_t levels, uint32_t fan_bits) {
  uint32_t level = 0;
  while (level < levels) {
    const uint32_t bits = fan_bits * (level + 1);
    if ((position & ((uint64_t{1} << bits) - 1)) != 0 || position + (uint64_t{1} << bits) > end) {
      break;
    }
    ++level;
  }
  return level;
}

}  // namespace

struct TimelineTiles::Tile {
  TileKey key;
  uint64_t begin = 0;  // ns from the trace's begin
  uint64_t end = 0;
  uint32_t bucket_bits = 0;
  double per_bucket_ns = 1;  // a power of two: exact

  uint64_t bucket_end(uint64_t bucket) const {
    return bucket + 1 >= kTileBuckets ? end : begin + ((bucket + 1) << bucket_bits);
  }
  // The last bucket also has what begins at the very end of the run.
  uint64_t bucket_of(uint64_t at) const {
    return std::min<uint64_t>((at - begin) >> bucket_bits, kTileBuckets - 1);
  }
  int64_t large_ns() const { return int64_t{2} << bucket_bits; }
  double in_buckets(uint64_t at) const {
    const double ns =
        at >= begin ? static_cast<double>(at - begin) : -static_cast<double>(begin - at);
    return ns * per_bucket_ns;
  }
};

struct TimelineTiles::Items {
  std::vector<uint32_t> slice, label, number;
  std::vector<float> begin, end;
  std::vector<uint16_t> depth;
};

std::shared_ptr<const TimelineTiles> TimelineTiles::of(const Trace& trace) {
  return trace.derived().get<TimelineTiles>("timeline tiles", [&] { return TimelineTiles(trace); });
}

TimelineTiles::TimelineTiles(const Trace& trace) {
  const uint64_t span = since_begin(trace, trace.end_ns());
  span_bits_ = std::max(kBucketBits, static_cast<uint32_t>(std::bit_width(span - (span > 0))));
  build_lanes(trace);
  build_starts(trace);
  build_slice_nodes(trace);
  build_value_nodes(trace);
}

uint64_t TimelineTiles::since_begin(const Trace& trace, int64_t time_ns) const {
  const uint64_t since = static_cast<uint64_t>(time_ns) - static_cast<uint64_t>(trace.begin_ns());
  return time_ns < trace.begin_ns() ? 0 : std::min(since, kMaxTime);
}
uint64_t TimelineTiles::start_of(const Trace& trace, uint32_t position) const {
  const uint32_t offset = start_offset_[position];
  if (offset != kFar) return block_start_[position >> kFanBits] + offset;
  return since_begin(trace, trace.slices().start_ns[rows_[position]]);
}
int64_t TimelineTiles::dur_of(const Trace& trace, uint32_t position) const {
  const uint32_t value = short_dur_ns_[position];
  return value != DurationColumn::kLong ? int64_t{value} : trace.slices().dur_ns[rows_[position]];
}
uint64_t TimelineTiles::end_of(const Trace& trace, uint32_t position) const {
  const uint64_t dur = static_cast<uint64_t>(std::max<int64_t>(dur_of(trace, position), 0));
  return std::min(start_of(trace, position) + dur, kMaxTime);
}

void TimelineTiles::build_lanes(const Trace& trace) {
  const SliceColumns& slices = trace.slices();
  rows_.resize(slices.size());
  short_dur_ns_.resize(slices.size());
  lane_begin_.push_back(0);
  std::vector<uint32_t> next;  // by depth: how many, then where the next one goes
  for (const Track& track : trace.tracks()) {
    first_lane_.push_back(static_cast<uint32_t>(lane_begin_.size() - 1));
    next.clear();
    const uint32_t end = track.first_slice + track.slice_count;
    for (uint32_t row = track.first_slice; row < end; ++row) {
      if (slices.depth[row] >= next.size()) next.resize(slices.depth[row] + size_t{1});
      ++next[slices.depth[row]];
    }
    uint32_t position = track.first_slice;
    for (uint32_t& count : next) {
      lane_begin_.back() = position;
      const uint32_t begin = position;
      position += count;
      count = begin;
      lane_begin_.push_back(position);
    }
    for (uint32_t row = track.first_slice; row < end; ++row) {
      const uint32_t at = next[slices.depth[row]]++;
      rows_[at] = row;
      short_dur_ns_[at] = slices.dur_ns.shorts()[row];
    }
  }
  first_lane_.push_back(static_cast<uint32_t>(lane_begin_.size() - 1));
}

void TimelineTiles::build_starts(const Trace& trace) {
  constexpr size_t kFan = size_t{1} << kFanBits;
  block_start_.resize((rows_.size() + kFan - 1) / kFan);
  start_offset_.resize(rows_.size());
  std::array<uint64_t, kFan> starts;
  for (size_t block = 0; block < block_start_.size(); ++block) {
    const size_t begin = block * kFan;
    const size_t count = std::min(kFan, rows_.size() - begin);
    for (size_t i = 0; i < count; ++i) {
      starts[i] = since_begin(trace, trace.slices().start_ns[rows_[begin + i]]);
    }
    // A block may hold the end of one lane and the begin of the next.
    const uint64_t least =
        *std::min_element(starts.begin(), starts.begin() + static_cast<ptrdiff_t>(count));
    block_start_[block] = least;
    for (size_t i = 0; i < count; ++i) {
      start_offset_[begin + i] = static_cast<uint32_t>(std::min<uint64_t>(starts[i] - least, kFar));
    }
  }
}

void TimelineTiles::build_slice_nodes(const Trace& trace) {
  constexpr uint32_t kFan = 1U << kFanBits;
  const uint32_t count = static_cast<uint32_t>(rows_.size());
  std::vector<SliceNode> nodes(count / kFan);  // whole ones only: the rest is read one by one
  for (uint32_t i = 0; i < nodes.size() * kFan; ++i) {
    SliceNode& node = nodes[i / kFan];
    node.max_dur_ns = std::max(node.max_dur_ns, dur_of(trace, i));
    node.max_end = std::max(node.max_end, end_of(trace, i));
  }
  while (!nodes.empty()) {
    std::vector<SliceNode> above(nodes.size() / kFan);
    for (size_t i = 0; i < above.size() * kFan; ++i) {
      SliceNode& node = above[i / kFan];
      node.max_dur_ns = std::max(node.max_dur_ns, nodes[i].max_dur_ns);
      node.max_end = std::max(node.max_end, nodes[i].max_end);
    }
    slice_nodes_.push_back(std::move(nodes));
    nodes = std::move(above);
  }
}

void TimelineTiles::build_value_nodes(const Trace& trace) {
  constexpr uint32_t kFan = 1U << kFanBits;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<double>& values = trace.counters().value;
  std::vector<Extremes> nodes(values.size() / kFan, {kInfinity, -kInfinity});
  // Not a number is neither less nor more, and so is passed over.
  for (size_t i = 0; i < nodes.size() * kFan; ++i) {
    Extremes& node = nodes[i / kFan];
    if (values[i] < node.least) node.least = values[i];
    if (values[i] > node.most) node.most = values[i];
  }
  while (!nodes.empty()) {
    std::vector<Extremes> above(nodes.size() / kFan, {kInfinity, -kInfinity});
    for (size_t i = 0; i < above.size() * kFan; ++i) {
      Extremes& node = above[i / kFan];
      node.least = std::min(node.least, nodes[i].least);
      node.most = std::max(node.most, nodes[i].most);
    }
    value_nodes_.push_back(std::move(nodes));
    nodes = std::move(above);
  }
}

// The first position in [begin, end), a part of a lane, that starts at `at` or later. Blocks are
// looked for near `begin` first, because buckets are asked for in order; then within one block.
uint32_t TimelineTiles::find_start(const Trace& trace, uint32_t begin, uint32_t end,
                                   uint64_t at) const {
  constexpr uint32_t kFan = 1U << kFanBits;
  uint32_t block = (begin + kFan - 1) >> kFanBits;
  uint32_t blocks_end = end >> kFanBits;  // those before it are of this lane alone
  if (block < blocks_end && block_start_[block] < at) {
    uint32_t step = 1;
    while (blocks_end - block > step && block_start_[block + step] < at) {
      block += step;
      step *= 2;
    }
    blocks_end = std::min(blocks_end, block + step);
    while (blocks_end - block > 1) {
      const uint32_t middle = block + (blocks_end - block) / 2;
      (block_start_[middle] < at ? block : blocks_end) = middle;
    }
    begin = block << kFanBits;
    // The last block is followed by what is left of the lane.
    if (blocks_end < end >> kFanBits) end = blocks_end << kFanBits;
  } else if (block < blocks_end) {
    end = block << kFanBits;
  }
  while (begin < end && start_of(trace, begin) < at) ++begin;
  return begin;
}

// The first position that lasts so long; `end` where there is none.
uint32_t TimelineTiles::find_large(const Trace& trace, uint32_t begin, uint32_t end,
                                   int64_t least_ns) const {
  const uint32_t levels = static_cast<uint32_t>(slice_nodes_.size());
  uint32_t at = begin;
  while (at < end) {
    uint32_t level = highest_node(at, end, levels, kFanBits);
    while (level > 0 && slice_nodes_[level - 1][at >> (kFanBits * level)].max_dur_ns >= least_ns) {
      --level;
    }
    if (level == 0 && dur_of(trace, at) >= least_ns) return at;
    at += 1U << (kFanBits * level);
  }
  return end;
}

// The last position in [begin, end) that ends after `beyond`; kNone where there is none.
uint32_t TimelineTiles::find_reaching(const Trace& trace, uint32_t begin, uint32_t end,
                                      uint64_t beyond) const {
  const uint32_t levels = static_cast<uint32_t>(slice_nodes_.size());
  uint32_t at = end;  // what is before it is left to look at
  while (at > begin) {
    uint32_t level = 0;
    while (level < levels) {
      const uint64_t size = uint64_t{1} << (kFanBits * (level + 1));
      if ((at & (size - 1)) != 0 || at - begin < size) break;
      ++level;
    }
    while (level > 0 && slice_nodes_[level - 1][(at >> (kFanBits * level)) - 1].max_end > beyond) {
      --level;
    }
    if (level == 0 && end_of(trace, at - 1) > beyond) return at - 1;
    at -= 1U << (kFanBits * level);
  }
  return kNone;
}

// Of a range that is not empty.
TimelineTiles::Summary TimelineTiles::summarize(const Trace& trace, uint32_t begin,
                                                uint32_t end) const {
  const uint32_t levels = static_cast<uint32_t>(slice_nodes_.size());
  Summary summary;
  uint32_t from = begin, until = begin;  // where the longest is
  for (uint32_t at = begin; at < end;) {
    const uint32_t level = highest_node(at, end, levels, kFanBits);
    const SliceNode node = level == 0 ? SliceNode{dur_of(trace, at), end_of(trace, at)}
                                      : slice_nodes_[level - 1][at >> (kFanBits * level)];
    const uint32_t next = at + (1U << (kFanBits * level));
    if (node.max_dur_ns > summary.longest_ns) {
      summary.longest_ns = node.max_dur_ns;
      from = at;
      until = next;
    }
    summary.last_end = std::max(summary.last_end, node.max_end);
    at = next;
  }
  summary.longest = find_large(trace, from, until, summary.longest_ns);
  return summary;
}

TimelineTiles::Extremes TimelineTiles::find_extremes(const Trace& trace, uint64_t begin,
                                                     uint64_t end) const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<double>& values = trace.counters().value;
  const uint32_t levels = static_cast<uint32_t>(value_nodes_.size());
  Extremes found{kInfinity, -kInfinity};
  for (uint64_t at = begin; at < end;) {
    const uint32_t level = highest_node(at, end, levels, kFanBits);
    const Extremes node = level == 0 ? Extremes{values[at], values[at]}
                                     : value_nodes_[level - 1][at >> (kFanBits * level)];
    if (node.least < found.least) found.least = node.least;
    if (node.most > found.most) found.most = node.most;
    at += uint64_t{1} << (kFanBits * level);
  }
  return found;
}

// What begins in one bucket: the large ones themselves, the others as one.
void TimelineTiles::add_bucket(const Trace& trace, const Tile& tile, uint32_t begin, uint32_t end,
                               uint32_t depth, Items& items) const {
  const auto add = [&](uint32_t position, uint32_t number, uint64_t from, uint64_t to) {
    items.slice.push_back(rows_[position]);
    items.label.push_back(index(trace.slices().label[rows_[position]]));
    items.number.push_back(number);
    items.begin.push_back(to_float(tile.in_buckets(from)));
    items.end.push_back(to_float(tile.in_buckets(to)));
    items.depth.push_back(static_cast<uint16_t>(depth));
  };
  const auto add_one = [&](uint32_t position) {
    add(position, 1, start_of(trace, position), end_of(trace, position));
  };
  const Summary all = summarize(trace, begin, end);
  if (all.longest_ns < tile.large_ns()) {
    add(all.longest, end - begin, start_of(trace, begin), all.last_end);
    return;
  }
  std::array<uint32_t, kMaxLargePerBucket + 1> large;
  uint32_t large_count = 0;
  uint32_t at = begin;
  while (large_count < kMaxLargePerBucket) {
    at = find_large(trace, at, end, tile.large_ns());
    if (at == end) break;
    large[large_count++] = at++;
  }
  large[large_count] = end;

  uint32_t first = kNone, number = 0;
  Summary merged;
  uint32_t from = begin;
  for (uint32_t i = 0; i <= large_count; from = large[i++] + 1) {
    if (from >= large[i]) continue;
    if (first == kNone) first = from;
    number += large[i] - from;
    const Summary part = summarize(trace, from, large[i]);
    merged.last_end = std::max(merged.last_end, part.last_end);
    if (part.longest_ns <= merged.longest_ns) continue;
    merged.longest = part.longest;
    merged.longest_ns = part.longest_ns;
  }
  // By begin: the merged ones begin where the first of them does.
  uint32_t next_large = 0;
  while (next_large < large_count && (first == kNone || large[next_large] < first)) {
    add_one(large[next_large++]);
  }
  if (number > 0) add(merged.longest, number, start_of(trace, first), merged.last_end);
  while (next_large < large_count) add_one(large[next_large++]);
}

void TimelineTiles::add_lane(const Trace& trace, const Tile& tile, uint32_t lane, uint32_t depth,
                             Items& items) const {
  const uint32_t lane_begin = lane_begin_[lane], lane_end = lane_begin_[lane + 1];
  const uint32_t begin = find_start(trace, lane_begin, lane_end, tile.begin);
  const uint32_t end = find_start(trace, begin, lane_end, tile.end);

  std::vector<uint32_t> reaching;
  for (uint32_t at = begin, looked_at = 0;
       reaching.size() < kMaxReachingIn && looked_at < 4 * kMaxReachingIn; ++looked_at) {
    at = find_reaching(trace, lane_begin, at, tile.begin);
    if (at == kNone) break;
    if (dur_of(trace, at) >= tile.large_ns()) reaching.push_back(at);
  }
  for (size_t i = reaching.size(); i-- > 0;) {
    add_bucket(trace, tile, reaching[i], reaching[i] + 1, depth, items);
  }
  for (uint32_t at = begin; at < end;) {
    const uint64_t bucket = tile.bucket_of(start_of(trace, at));
    const uint32_t next = find_start(trace, at, end, tile.bucket_end(bucket));
    add_bucket(trace, tile, at, next, depth, items);
    at = next;
  }
}

void TimelineTiles::append_slices(const Trace& trace, const Tile& tile, std::string& out) const {
  Items items;
  for (uint32_t lane = first_lane_[tile.key.track]; lane < first_lane_[tile.key.track + 1];
       ++lane) {
    add_lane(trace, tile, lane, lane - first_lane_[tile.key.track], items);
  }
  const size_t at = append_head(tile.key, 0, out);
  append_column(out, items.slice);
  append_column(out, items.label);
  append_column(out, items.number);
  append_column(out, items.begin);
  append_column(out, items.end);
  append_column(out, items.depth);
  if (items.depth.size() % 2 != 0) out.append(2, '\0');
  finish_head(at, items.slice.size(), out);
}

void TimelineTiles::append_counter(const Trace& trace, const Tile& tile, std::string& out) const {
  const Track& track = trace.tracks()[tile.key.track];
  const std::vector<int64_t>& times = trace.counters().time_ns;
  const std::vector<double>& values = trace.counters().value;
  const auto find = [&](uint64_t from, uint64_t to, uint64_t at) {
    const auto first = times.begin() + static_cast<ptrdiff_t>(from);
    const auto last = times.begin() + static_cast<ptrdiff_t>(to);
    const auto is_before = [&](int64_t time_ns) { return since_begin(trace, time_ns) < at; };
    return static_cast<uint64_t>(std::partition_point(first, last, is_before) - times.begin());
  };
  const uint64_t track_end = track.first_value + track.value_count;
  const uint64_t begin = find(track.first_value, track_end, tile.begin);
  const uint64_t end = find(begin, track_end, tile.end);
  std::vector<float> at, least, most, last;
  const auto add = [&](uint64_t from, uint64_t to) {
    const Extremes extremes = find_extremes(trace, from, to);
    const bool is_number = extremes.least <= extremes.most;
    at.push_back(to_float(tile.in_buckets(since_begin(trace, times[from]))));
    least.push_back(is_number ? to_float(extremes.least) : std::nanf(""));
    most.push_back(is_number ? to_float(extremes.most) : std::nanf(""));
    last.push_back(to_float(values[to - 1]));
  };
  if (begin > track.first_value) add(begin - 1, begin);
  for (uint64_t from = begin; from < end;) {
    const uint64_t bucket = tile.bucket_of(since_begin(trace, times[from]));
    const uint64_t to = find(from, end, tile.bucket_end(bucket));
    add(from, to);
    from = to;
  }
  const size_t head = append_head(tile.key, 1, out);
  append_column(out, at);
  append_column(out, least);
  append_column(out, most);
  append_column(out, last);
  finish_head(head, at.size(), out);
}

Status TimelineTiles::append_tile(const Trace& trace, const TileKey& key, std::string& out) const {
  if (key.track >= trace.tracks().size()) return Status::error("no such track");
  if (key.level > last_level() || (key.index >> key.level) != 0) {
    return Status::error("no such tile");
  }
  Tile tile;
  tile.key = key;
  tile.bucket_bits = span_bits_ - key.level - kBucketBits;
  tile.per_bucket_ns = std::ldexp(1.0, -static_cast<int>(tile.bucket_bits));
  tile.begin = key.index << (span_bits_ - key.level);
  tile.end = tile.begin + tile_ns(key.level);
  // What begins at the very end of a run of 2^k ns belongs to its last tile.
  if ((key.index + 1) >> key.level != 0) tile.end = UINT64_MAX;
  if (trace.tracks()[key.track].kind == TrackKind::kCounter) {
    append_counter(trace, tile, out);
  } else {
    append_slices(trace, tile, out);
  }
  return {};
}

}  // namespace stepscope
