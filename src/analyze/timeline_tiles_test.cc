#include "analyze/timeline_tiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "trace/trace_builder.h"

namespace stepscope {
namespace {

struct Item {
  uint32_t slice, label, number;
  float begin, end;
  uint16_t depth;
  friend bool operator==(const Item&, const Item&) = default;
  friend auto operator<=>(const Item&, const Item&) = default;
};
void PrintTo(const Item& item, std::ostream* out) {
  *out << "slice " << item.slice << " number " << item.number << " " << item.begin << ".."
       << item.end << " depth " << item.depth;
}

struct Head {
  uint32_t magic, track, level, index, kind, count, bytes, index_high;
};

template <typename T>
T take(std::string_view& bytes) {
  T value;
  EXPECT_GE(bytes.size(), sizeof(T));
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes.remove_prefix(sizeof(T));
  return value;
}

Head take_head(std::string_view& bytes, const TileKey& key) {
  const size_t size = bytes.size();
  const Head head = take<Head>(bytes);
  EXPECT_EQ(head.magic, kTileMagic);
  EXPECT_EQ(head.track, key.track);
  EXPECT_EQ(head.level, key.level);
  EXPECT_EQ(head.index | uint64_t{head.index_high} << 32, key.index);
  EXPECT_EQ(head.bytes, size);
  return head;
}

std::vector<Item> read_slices(const Trace& trace, const TileKey& key) {
  std::string text;
  EXPECT_TRUE(TimelineTiles::of(trace)->append_tile(trace, key, text));
  std::string_view bytes = text;
  const Head head = take_head(bytes, key);
  EXPECT_EQ(head.kind, 0U);
  std::vector<Item> items(head.count);
  for (Item& item : items) item.slice = take<uint32_t>(bytes);
  for (Item& item : items) item.label = take<uint32_t>(bytes);
  for (Item& item : items) item.number = take<uint32_t>(bytes);
  for (Item& item : items) item.begin = take<float>(bytes);
  for (Item& item : items) item.end = take<float>(bytes);
  for (Item& item : items) item.depth = take<uint16_t>(bytes);
  EXPECT_EQ(bytes.size(), head.count % 2 == 0 ? 0U : 2U);
  return items;
}

// The same in the obvious way: every slice of the track is looked at.
std::vector<Item> expect_slices(const Trace& trace, const TileKey& key) {
  const auto tiles = TimelineTiles::of(trace);
  const double bucket_ns = static_cast<double>(tiles->tile_ns(key.level)) / kTileBuckets;
  const int64_t begin_ns = static_cast<int64_t>(key.index * tiles->tile_ns(key.level));
  const int64_t end_ns = begin_ns + static_cast<int64_t>(tiles->tile_ns(key.level));
  const bool is_last = key.index + 1 == uint64_t{1} << key.level;
  struct Bucket {
    std::vector<uint32_t> large, small;
  };
  std::map<std::pair<uint16_t, int64_t>, Bucket> buckets;
  std::map<uint16_t, std::vector<uint32_t>> reaching;
  const SliceColumns& slices = trace.slices();
  const Track& track = trace.tracks()[key.track];
  for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
    const int64_t start_ns = slices.start_ns[row] - trace.begin_ns();
    const bool is_large = static_cast<double>(slices.dur_ns[row]) >= 2 * bucket_ns;
    if (start_ns < begin_ns) {
      if (is_large && start_ns + slices.dur_ns[row] > begin_ns) {
        reaching[slices.depth[row]].push_back(row);
      }
    } else if (start_ns < end_ns || (is_last && start_ns == end_ns)) {
      const auto number = std::min<int64_t>(
          static_cast<int64_t>(static_cast<double>(start_ns - begin_ns) / bucket_ns), 511);
      Bucket& bucket = buckets[{slices.depth[row], number}];
      const bool is_itself = is_large && bucket.large.size() < kMaxLargePerBucket;
      (is_itself ? bucket.large : bucket.small).push_back(row);
    }
  }
  std::vector<Item> items;
  const auto in_buckets = [&](int64_t at_ns) {
    return static_cast<float>(static_cast<double>(at_ns - trace.begin_ns() - begin_ns) / bucket_ns);
  };
  const auto add_one = [&](uint32_t row) {
    items.push_back({row, index(slices.label[row]), 1, in_buckets(slices.start_ns[row]),
                     in_buckets(slices.end_ns(row)), slices.depth[row]});
  };
  for (const auto& [depth, rows] : reaching) {
    const size_t skipped = rows.size() > kMaxReachingIn ? rows.size() - kMaxReachingIn : 0;
    for (size_t i = skipped; i < rows.size(); ++i) add_one(rows[i]);
  }
  for (const auto& [place, bucket] : buckets) {
    for (const uint32_t row : bucket.large) add_one(row);
    if (bucket.small.empty()) continue;
    uint32_t longest = bucket.small.front();
    int64_t last_end_ns = INT64_MIN;
    for (const uint32_t row : bucket.small) {
      if (slices.dur_ns[row] > slices.dur_ns[longest]) longest = row;
      last_end_ns = std::max(last_end_ns, slices.end_ns(row));
    }
    items.push_back(
        {longest, index(slices.label[longest]), static_cast<uint32_t>(bucket.small.size()),
         in_buckets(slices.start_ns[bucket.small.front()]), in_buckets(last_end_ns), place.first});
  }
  return items;
}

void expect_tile(const Trace& trace, const TileKey& key) {
  SCOPED_TRACE("track " + std::to_string(key.track) + " level " + std::to_string(key.level) +
               " index " + std::to_string(key.index));
  std::vector<Item> found = read_slices(trace, key);
  for (size_t i = 1; i < found.size(); ++i) {
    EXPECT_LE(std::pair(found[i - 1].depth, found[i - 1].begin),
              std::pair(found[i].depth, found[i].begin));
  }
  std::vector<Item> expected = expect_slices(trace, key);
  std::sort(found.begin(), found.end());
  std::sort(expected.begin(), expected.end());
  ASSERT_EQ(found, expected);
}

// All tiles of the first levels and some of the others.
void expect_tiles(const Trace& trace, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto tiles = TimelineTiles::of(trace);
  for (uint32_t track = 0; track < trace.tracks().size(); ++track) {
    if (trace.tracks()[track].kind == TrackKind::kCounter) continue;
    for (uint32_t level = 0; level <= tiles->last_level(); ++level) {
      const uint64_t count = uint64_t{1} << level;
      for (uint64_t i = 0; i < std::min<uint64_t>(count, 6); ++i) {
        const uint64_t at = count <= 6 ? i : i == 0 ? count - 1 : i == 1 ? 0 : random() % count;
        expect_tile(trace, {track, level, at});
        if (testing::Test::HasFatalFailure()) return;
      }
      // One where something is.
      const Track& of = trace.tracks()[track];
      if (of.slice_count == 0) continue;
      const uint32_t row = of.first_slice + static_cast<uint32_t>(random() % of.slice_count);
      const uint64_t start = static_cast<uint64_t>(trace.slices().start_ns[row] - trace.begin_ns());
      expect_tile(trace, {track, level, std::min(start / tiles->tile_ns(level), count - 1)});
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

struct Shape {
  int slices = 0;
  int64_t span_ns = 0;
  int64_t max_dur_ns = 0;
  int64_t grid_ns = 1;  // times are multiples of it: many begin and end together
};

Trace make_random(const Shape& shape, uint64_t seed) {
  std::mt19937_64 random(seed);
  TraceBuilder builder;
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  for (int track = 0; track < 3; ++track) {
    const TrackId id = builder.add_thread({1}, {10 + track});
    if (track == 1) continue;  // empty
    for (int i = 0; i < shape.slices; ++i) {
      // Few long ones, many short ones, some moments.
      const int64_t dur_ns = i % 7 == 0 ? 0 : below(1 + (shape.max_dur_ns >> below(20)));
      builder.add_slice(id, -500 + below(shape.span_ns) / shape.grid_ns * shape.grid_ns,
                        dur_ns / shape.grid_ns * shape.grid_ns,
                        builder.label("l" + std::to_string(below(9)), "", SliceKind::kOther));
    }
  }
  return std::move(builder).finish();
}

TEST(TimelineTiles, AreThoseOfTheSlowWayOnRandomTraces) {
  const Shape shapes[] = {{40, 300, 50},
                          {3000, 5'000, 40},
                          {5000, 1'000'000, 300'000},
                          {20'000, 50'000'000, 5'000'000},
                          {300, int64_t{60} << 30, int64_t{20} << 30},  // > 4.29 s
                          {2000, int64_t{1} << 50, int64_t{1} << 49}};
  uint64_t seed = 1;
  for (const Shape& shape : shapes) {
    SCOPED_TRACE("shape " + std::to_string(seed));
    const Trace trace = make_random(shape, seed);
    expect_tiles(trace, seed++);
    if (HasFatalFailure()) return;
  }
}

TEST(TimelineTiles, AreThoseOfTheSlowWayAtTheEdgesOfBuckets) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Shape dense = {400, 2000, 600, 1};
    const Shape even = {600, 4096, 1024, int64_t{1} << (seed % 9)};
    expect_tiles(make_random(seed % 2 == 0 ? dense : even, seed), seed);
    if (HasFatalFailure()) return;
  }
}

TEST(TimelineTiles, LaneOfOverlappingSlicesStaysBounded) {
  TraceBuilder builder;
  const TrackId track = builder.add_thread({1}, {1});
  const LabelId label = builder.label("x", "", SliceKind::kOther);
  for (int i = 0; i < 50'000; ++i) builder.add_slice(track, i, 60'000 + i, label);
  const Trace trace = std::move(builder).finish();
  EXPECT_EQ(TimelineTiles::of(trace)->depth(0), 1U);
  expect_tiles(trace, 3);
  EXPECT_LE(read_slices(trace, {0, 0, 0}).size(), 512U * (kMaxLargePerBucket + 1));
}

TEST(TimelineTiles, MomentAtTheVeryEndIsInTheLastTile) {
  TraceBuilder builder;
  const TrackId track = builder.add_thread({1}, {1});
  const LabelId label = builder.label("x", "", SliceKind::kInstant);
  builder.add_slice(track, 0, 10, label);
  builder.add_slice(track, 4096, 0, label);
  const Trace trace = std::move(builder).finish();
  const auto tiles = TimelineTiles::of(trace);
  EXPECT_EQ(tiles->tile_ns(0), 4096U);
  EXPECT_EQ(tiles->last_level(), 3U);
  const auto items = read_slices(trace, {0, 3, 7});
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0].begin, 512.0F);
}

TEST(TimelineTiles, OneSliceIsOneItemAndShortRunsHaveOneLevel) {
  TraceBuilder builder;
  builder.add_slice(builder.add_thread({1}, {1}), 77, 100,
                    builder.label("x", "", SliceKind::kOther));
  const Trace trace = std::move(builder).finish();
  const auto tiles = TimelineTiles::of(trace);
  EXPECT_EQ(tiles->last_level(), 0U);
  EXPECT_EQ(tiles->tile_ns(0), 512U);
  EXPECT_EQ(read_slices(trace, {0, 0, 0}), (std::vector<Item>{{0, 0, 1, 0, 100, 0}}));
  std::string out;
  EXPECT_FALSE(tiles->append_tile(trace, {0, 1, 0}, out));
  EXPECT_FALSE(tiles->append_tile(trace, {0, 0, 1}, out));
  EXPECT_FALSE(tiles->append_tile(trace, {1, 0, 0}, out));
  EXPECT_FALSE(tiles->append_tile(trace, {0, UINT32_MAX, UINT64_MAX}, out));
  EXPECT_TRUE(out.empty());
}

TEST(TimelineTiles, EmptyTraceHasNoTiles) {
  const Trace trace = std::move(TraceBuilder()).finish();
  std::string out;
  EXPECT_FALSE(TimelineTiles::of(trace)->append_tile(trace, {}, out));
}

TEST(TimelineTiles, TimesAtTheEndsOfTheClockAreHeld) {
  TraceBuilder builder;
  const TrackId track = builder.add_thread({1}, {1});
  const LabelId label = builder.label("x", "", SliceKind::kOther);
  builder.add_slice(track, INT64_MIN / 2 - 5, 3, label);
  builder.add_slice(track, INT64_MAX / 2 + 5, 3, label);
  const Trace trace = std::move(builder).finish();
  const auto tiles = TimelineTiles::of(trace);
  size_t items = 0;
  for (uint64_t i = 0; i < 4; ++i) items += read_slices(trace, {0, 2, i}).size();
  EXPECT_EQ(items, 2U);
  (void)read_slices(trace, {0, tiles->last_level(), (uint64_t{1} << tiles->last_level()) - 1});
}

struct Value {
  float at, least, most, last;
  friend bool operator==(const Value&, const Value&) = default;
};

std::vector<Value> read_counter(const Trace& trace, const TileKey& key) {
  std::string text;
  EXPECT_TRUE(TimelineTiles::of(trace)->append_tile(trace, key, text));
  std::string_view bytes = text;
  const Head head = take_head(bytes, key);
  EXPECT_EQ(head.kind, 1U);
  std::vector<Value> values(head.count);
  for (Value& value : values) value.at = take<float>(bytes);
  for (Value& value : values) value.least = take<float>(bytes);
  for (Value& value : values) value.most = take<float>(bytes);
  for (Value& value : values) value.last = take<float>(bytes);
  EXPECT_TRUE(bytes.empty());
  return values;
}

TEST(TimelineTiles, CounterHasTheExtremesOfEachBucketAndTheValueBefore) {
  std::mt19937_64 random(5);
  TraceBuilder builder;
  const TrackId track = builder.add_counter({1}, builder.string("memory"), builder.string(""));
  for (int i = 0; i < 5000; ++i) {
    builder.add_counter_value(track, static_cast<int64_t>(random() % 100'000),
                              static_cast<double>(random() % 1000) - 500);
  }
  const Trace trace = std::move(builder).finish();
  const auto tiles = TimelineTiles::of(trace);
  const auto& times = trace.counters().time_ns;
  for (uint32_t level = 0; level <= tiles->last_level(); ++level) {
    for (uint64_t tile = 0; tile < uint64_t{1} << level; ++tile) {
      const int64_t begin_ns = static_cast<int64_t>(tile * tiles->tile_ns(level));
      const int64_t bucket_ns = static_cast<int64_t>(tiles->tile_ns(level) / kTileBuckets);
      std::vector<Value> expected;
      int64_t last_bucket = -1;
      for (size_t i = 0; i < times.size(); ++i) {
        const int64_t offset_ns = times[i] - trace.begin_ns() - begin_ns;
        if (offset_ns >= bucket_ns * 512) continue;
        const float at = static_cast<float>(offset_ns) / static_cast<float>(bucket_ns);
        const float value = static_cast<float>(trace.counters().value[i]);
        if (offset_ns < 0) {
          expected = {{at, value, value, value}};
        } else if (offset_ns / bucket_ns == last_bucket) {
          Value& to = expected.back();
          to = {to.at, std::min(to.least, value), std::max(to.most, value), value};
        } else {
          last_bucket = offset_ns / bucket_ns;
          expected.push_back({at, value, value, value});
        }
      }
      ASSERT_EQ(read_counter(trace, {0, level, tile}), expected) << level << " " << tile;
    }
  }
}

}  // namespace
}  // namespace stepscope
