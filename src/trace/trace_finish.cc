// TraceBuilder::finish(): begins meet their ends, slices are sorted and nested, arguments follow
// their slices, arrows and allocations find the slice that they belong to.
#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "trace/find_slices.h"
#include "trace/nesting.h"
#include "trace/prefault.h"
#include "trace/sort_by_value.h"
#include "trace/tensorflow_scopes.h"
#include "trace/torch_scopes.h"
#include "trace/trace_builder.h"

namespace stepscope {
namespace {

constexpr uint32_t kUnset = UINT32_MAX;

// The number that has the same place among signed numbers.
int64_t as_signed(uint64_t value) { return static_cast<int64_t>(value ^ uint64_t{1} << 63); }

template <typename T>
void permute(std::vector<T>& column, const std::vector<uint32_t>& order) {
  std::vector<T> sorted;
  sorted.reserve(order.size());
  for (const uint32_t at : order) sorted.push_back(column[at]);
  column = std::move(sorted);
}

// The values of `column` at the given positions, for the given rows.
ArgColumn gather(const ArgColumn& column, const std::vector<std::pair<SliceId, uint32_t>>& rows) {
  ArgColumn sorted;
  sorted.key = column.key;
  sorted.type = column.type;
  sorted.rows.reserve(rows.size());
  const bool is_double = column.type == ArgType::kDouble;
  if (is_double) {
    sorted.doubles.reserve(rows.size());
  } else {
    sorted.ints.reserve(rows.size());
  }
  for (const auto& [row, at] : rows) {
    sorted.rows.push_back(row);
    if (is_double) {
      sorted.doubles.push_back(column.doubles[at]);
    } else {
      sorted.ints.push_back(column.ints[at]);
    }
  }
  return sorted;
}

}  // namespace

Trace TraceBuilder::finish() && {
  match_begins_and_ends();
  data_.slices.dur_ns.settle();
  sort_slices();
  nest_slices();
  finish_args();
  finish_counters();
  bind_flows();
  bind_allocations();
  find_time_range();
  return Trace(std::move(data_));
}

void TraceBuilder::match_begins_and_ends() {
  int64_t last_ns = std::numeric_limits<int64_t>::min();
  std::vector<SliceRef> unclosed;
  std::unordered_map<uint32_t, SliceRef> closed_by;  // ghost -> slice
  for (std::vector<BeginEnd>& points : begin_ends_) {
    if (points.empty()) continue;
    std::stable_sort(points.begin(), points.end(),
                     [](const BeginEnd& a, const BeginEnd& b) { return a.time_ns < b.time_ns; });
    last_ns = std::max(last_ns, points.back().time_ns);
    std::vector<SliceRef> open;
    for (const BeginEnd& point : points) {
      if (!point.is_end) {
        open.push_back(point.slice);
      } else if (open.empty()) {
        data_.stats.add(Stat::kEndsWithoutBegin);
      } else {
        set_dur_ns(open.back(), point.time_ns - start_ns(open.back()));
        if (point.slice != kNoSliceRef) closed_by.emplace(index(point.slice), open.back());
        open.pop_back();
      }
    }
    unclosed.insert(unclosed.end(), open.begin(), open.end());
    points = {};
  }
  for (auto& [ghost, slice] : ghosts_) {
    const auto it = closed_by.find(index(ghost));
    if (it != closed_by.end()) slice = it->second;
  }
  if (unclosed.empty()) return;
  for (uint32_t row = 0; row < data_.slices.size(); ++row) {
    last_ns = std::max(last_ns, data_.slices.end_ns(row));
  }
  data_.stats.add(Stat::kBeginsWithoutEnd, unclosed.size());
  for (const SliceRef slice : unclosed) set_dur_ns(slice, last_ns - start_ns(slice));
}

bool TraceBuilder::slices_are_in_order() const {
  if (!ghosts_.empty()) return false;
  const SliceColumns& slices = data_.slices;
  for (uint32_t row = 1; row < slices.size(); ++row) {
    if (slice_track_[row] != slice_track_[row - 1]) {
      if (slice_track_[row] < slice_track_[row - 1]) return false;
    } else if (slices.start_ns[row] <= slices.start_ns[row - 1]) {
      if (slices.start_ns[row] < slices.start_ns[row - 1]) return false;
      if (slices.dur_ns[row] > slices.dur_ns[row - 1]) return false;
    }
  }
  return true;
}

// The rows as they shall stand: by track, then by start, then longer first, then as they came. Sets
// each track's range on the way. Ghosts are left out.
std::vector<uint32_t> TraceBuilder::build_order() {
  const SliceColumns& slices = data_.slices;
  std::vector<uint8_t> is_ghost;
  if (!ghosts_.empty()) {
    is_ghost.resize(slices.size());
    for (const auto& ghost : ghosts_) is_ghost[index(ghost.first)] = 1;
  }
  const auto skip = [&](uint32_t row) { return !is_ghost.empty() && is_ghost[row] != 0; };

  std::vector<Track>& tracks = data_.tracks;
  std::vector<uint8_t> is_unsorted(tracks.size());
  std::vector<uint32_t> last_row(tracks.size(), kUnset);
  for (uint32_t row = 0; row < slices.size(); ++row) {
    if (skip(row)) continue;
    const uint32_t track = index(slice_track_[row]);
    const uint32_t last = last_row[track];
    if (last != kUnset && slices.start_ns[row] <= slices.start_ns[last]) is_unsorted[track] = 1;
    last_row[track] = row;
    ++tracks[track].slice_count;
  }
  uint32_t first = 0;
  for (Track& track : tracks) {
    track.first_slice = first;
    first += track.slice_count;
  }
  std::vector<uint32_t> order(first);
  std::vector<uint32_t> next(tracks.size());
  for (size_t t = 0; t < tracks.size(); ++t) next[t] = tracks[t].first_slice;
  for (uint32_t row = 0; row < slices.size(); ++row) {
    if (!skip(row)) order[next[index(slice_track_[row])]++] = row;
  }

  std::vector<SortKey> keys;
  std::vector<SortKey> scratch;
  for (size_t t = 0; t < tracks.size(); ++t) {
    if (!is_unsorted[t]) continue;
    const auto rows = std::span(order).subspan(tracks[t].first_slice, tracks[t].slice_count);
    keys.clear();
    keys.reserve(rows.size());
    for (const uint32_t row : rows) keys.push_back({slices.start_ns[row], row});
    sort_by_value(keys, scratch);
    for (size_t i = 0; i < keys.size(); ++i) rows[i] = keys[i].row;
    // Among slices that start together the longer one is the outer one.
    for (size_t i = 0; i < keys.size();) {
      size_t end = i + 1;
      while (end < keys.size() && keys[end].value == keys[i].value) ++end;
      if (end - i > 1) {
        std::stable_sort(
            rows.begin() + static_cast<ptrdiff_t>(i), rows.begin() + static_cast<ptrdiff_t>(end),
            [&](uint32_t a, uint32_t b) { return slices.dur_ns[a] > slices.dur_ns[b]; });
      }
      i = end;
    }
  }
  return order;
}

void TraceBuilder::sort_slices() {
  SliceColumns& slices = data_.slices;
  for (Track& track : data_.tracks) track.first_slice = track.slice_count = 0;
  if (slices_are_in_order()) {
    for (uint32_t row = 0; row < slices.size();) {
      uint32_t end = row + 1;
      while (end < slices.size() && slice_track_[end] == slice_track_[row]) ++end;
      data_.tracks[index(slice_track_[row])].slice_count = end - row;
      row = end;
    }
    uint32_t first = 0;
    for (Track& track : data_.tracks) {
      track.first_slice = first;
      first += track.slice_count;
    }
    slices.start_ns.shrink_to_fit();
    slices.label.shrink_to_fit();
    slices.dur_ns.shrink_to_fit();
  } else {
    const std::vector<uint32_t> order = build_order();
    permute(slices.start_ns, order);
    permute(slices.label, order);
    DurationColumn durations;
    durations.reserve(order.size());
    for (const uint32_t row : order) durations.push_back(slices.dur_ns[row]);
    slices.dur_ns = std::move(durations);
    final_row_.assign(slice_track_.size(), kNoSlice);
    for (uint32_t row = 0; row < order.size(); ++row) final_row_[order[row]] = SliceId{row};
    for (const auto& [ghost, slice] : ghosts_) {
      if (slice != kNoSliceRef) final_row_[index(ghost)] = final_row_[index(slice)];
    }
  }
  slice_track_ = {};
}

void TraceBuilder::nest_slices() {
  SliceColumns& slices = data_.slices;
  reserve_to_fill(slices.parent, slices.size());
  reserve_to_fill(slices.depth, slices.size());
  slices.parent.resize(slices.size());
  slices.depth.resize(slices.size());
  struct Open {
    int64_t end_ns;
    SliceId row;
  };
  const auto may_overlap = [&](SliceId row) {
    const Label& label = data_.labels[slices.label[index(row)]];
    const std::string_view category = data_.strings.view(label.category);
    return category == kUserScopeCategory || category == kExecutorCategory ||
           label.kind == SliceKind::kStep;
  };
  std::vector<Open> open;
  uint64_t overlapping = 0;
  uint64_t clamped = 0;
  for (const Track& track : data_.tracks) {
    open.clear();
    for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
      const int64_t start_ns = slices.start_ns[row];
      const int64_t end_ns = slices.end_ns(row);
      bool overlaps = false;
      while (!open.empty() && !Nesting::holds(open.back().end_ns, start_ns, end_ns)) {
        overlaps |= start_ns < open.back().end_ns && !may_overlap(SliceId{row}) &&
                    !may_overlap(open.back().row);
        open.pop_back();
      }
      overlapping += overlaps;
      slices.parent[row] = open.empty() ? kNoSlice : open.back().row;
      constexpr size_t kMaxDepth = std::numeric_limits<uint16_t>::max();
      clamped += open.size() > kMaxDepth;
      slices.depth[row] = static_cast<uint16_t>(std::min(open.size(), kMaxDepth));
      open.push_back({end_ns, SliceId{row}});
    }
  }
  data_.stats.add(Stat::kSlicesOverlapping, overlapping);
  data_.stats.add(Stat::kDepthClamped, clamped);
}

void TraceBuilder::finish_args() {
  std::vector<uint32_t> position_plus_1;  // by row; all 0 between columns
  std::vector<std::pair<SliceId, uint32_t>> rows;
  for (ArgColumn& column : data_.args) {
    bool in_order = true;
    for (size_t i = 0; i < column.rows.size(); ++i) {
      if (!final_row_.empty()) column.rows[i] = final_row_[index(column.rows[i])];
      in_order &= column.rows[i] != kNoSlice && (i == 0 || column.rows[i - 1] < column.rows[i]);
    }
    if (in_order) {
      column.rows.shrink_to_fit();
      continue;
    }
    rows.clear();
    if (column.rows.size() > data_.slices.size() / 16) {
      // Dense: put each value at its row, then walk the rows. A later value replaces an earlier
      // one.
      position_plus_1.resize(data_.slices.size());
      for (size_t i = 0; i < column.rows.size(); ++i) {
        if (column.rows[i] == kNoSlice) continue;
        position_plus_1[index(column.rows[i])] = static_cast<uint32_t>(i + 1);
      }
      for (uint32_t row = 0; row < position_plus_1.size(); ++row) {
        if (position_plus_1[row] == 0) continue;
        rows.emplace_back(SliceId{row}, position_plus_1[row] - 1);
        position_plus_1[row] = 0;
      }
    } else {
      for (size_t i = 0; i < column.rows.size(); ++i) {
        if (column.rows[i] != kNoSlice) rows.emplace_back(column.rows[i], static_cast<uint32_t>(i));
      }
      std::sort(rows.begin(), rows.end());
      size_t kept = 0;
      for (size_t i = 0; i < rows.size(); ++i) {
        if (kept > 0 && rows[kept - 1].first == rows[i].first) --kept;
        rows[kept++] = rows[i];
      }
      rows.resize(kept);
    }
    column = gather(column, rows);
  }
  std::erase_if(data_.args, [](const ArgColumn& column) { return column.rows.empty(); });
}

void TraceBuilder::finish_counters() {
  CounterColumns& counters = data_.counters;
  std::vector<uint32_t> order(counters.time_ns.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto by_place = [&](uint32_t a, uint32_t b) {
    return std::pair(counter_track_[a], counters.time_ns[a]) <
           std::pair(counter_track_[b], counters.time_ns[b]);
  };
  if (!std::is_sorted(order.begin(), order.end(), by_place)) {
    std::stable_sort(order.begin(), order.end(), by_place);
    permute(counters.time_ns, order);
    permute(counters.value, order);
  }
  for (Track& track : data_.tracks) track.value_count = 0;
  for (const TrackId track : counter_track_) ++data_.tracks[index(track)].value_count;
  uint64_t first = 0;
  for (Track& track : data_.tracks) {
    track.first_value = first;
    first += track.value_count;
  }
  counter_track_ = {};
}

// The points by key, then time, then phase, then as they came.
std::vector<SortKey> TraceBuilder::order_flow_points() const {
  std::vector<SortKey> order;
  order.reserve(flow_points_.size());
  for (uint32_t i = 0; i < flow_points_.size(); ++i) {
    order.push_back({as_signed(flow_points_[i].key), i});
  }
  std::vector<SortKey> scratch;
  sort_by_value(order, scratch);
  for (auto first = order.begin(); first != order.end();) {
    auto last = first + 1;
    while (last != order.end() && last->value == first->value) ++last;
    const auto point = [&](const SortKey& key) -> const FlowPoint& {
      return flow_points_[key.row];
    };
    const auto by_time = [&](const SortKey& a, const SortKey& b) {
      return std::pair(point(a).time_ns, point(a).phase) <
             std::pair(point(b).time_ns, point(b).phase);
    };
    // Asked first, because the sort allocates and nearly all chains are pairs in order.
    if (!std::is_sorted(first, last, by_time)) std::stable_sort(first, last, by_time);
    // A lone pair whose end comes before its start is an arrow back in time (two clocks that
    // disagree).
    if (last - first == 2 && point(first[0]).phase == FlowPhase::kEnd &&
        point(first[1]).phase == FlowPhase::kStart) {
      std::swap(first[0], first[1]);
    }
    first = last;
  }
  return order;
}

void TraceBuilder::bind_flows() {
  FlowColumns& flows = data_.flows;
  const auto add = [&](SliceId from, SliceId to, int64_t from_ns, int64_t to_ns, LabelId label,
                       uint64_t id) {
    if (from == kNoSlice || to == kNoSlice) {
      data_.stats.add(Stat::kFlowsUnbound);
      return;
    }
    flows.from.push_back(from);
    flows.to.push_back(to);
    flows.from_ns.push_back(from_ns);
    flows.to_ns.push_back(to_ns);
    flows.label.push_back(label);
    flows.id.push_back(id);
  };
  const auto final_row = [&](SliceRef ref) {
    return final_row_.empty() ? SliceId{index(ref)} : final_row_[index(ref)];
  };
  reserve_to_fill(flows.from, direct_flows_.size());
  reserve_to_fill(flows.to, direct_flows_.size());
  reserve_to_fill(flows.from_ns, direct_flows_.size());
  reserve_to_fill(flows.to_ns, direct_flows_.size());
  reserve_to_fill(flows.label, direct_flows_.size());
  reserve_to_fill(flows.id, direct_flows_.size());
  for (const DirectFlow& flow : direct_flows_) {
    add(final_row(flow.from), final_row(flow.to), flow.from_ns, flow.to_ns, flow.label, flow.id);
  }
  // In the order of the file, which is mostly that of time.
  std::vector<PointInTime> places;
  places.reserve(flow_points_.size());
  for (const FlowPoint& point : flow_points_) {
    places.push_back({point.time_ns, point.track, point.binds_next});
  }
  const std::vector<SliceId> slice_of =
      find_slices(data_.tracks, data_.slices, data_.labels, places);
  const std::vector<SortKey> chains = order_flow_points();
  const FlowPoint* before = nullptr;  // the point that the next one of its chain hangs on
  SliceId before_slice = kNoSlice;
  bool before_is_used = true;
  for (const SortKey& key : chains) {
    const FlowPoint& point = flow_points_[key.row];
    const bool goes_on =
        before != nullptr && before->key == point.key && point.phase != FlowPhase::kStart;
    if (!goes_on && before != nullptr && !before_is_used) data_.stats.add(Stat::kFlowsUnbound);
    const SliceId slice = slice_of[key.row];
    if (goes_on) {
      add(before_slice, slice, before->time_ns, point.time_ns, before->label, point.id);
    } else if (point.phase != FlowPhase::kStart) {
      data_.stats.add(Stat::kFlowsUnbound);
    }
    const bool ends = point.phase == FlowPhase::kEnd;
    before = ends ? nullptr : &point;
    before_slice = slice;
    before_is_used = goes_on;
  }
  if (before != nullptr && !before_is_used) data_.stats.add(Stat::kFlowsUnbound);
  flow_points_ = {};
  direct_flows_ = {};
  sort_flows();
}

void TraceBuilder::sort_flows() {
  FlowColumns& flows = data_.flows;
  std::vector<SortKey> keys;
  keys.reserve(flows.from.size());
  for (uint32_t i = 0; i < flows.from.size(); ++i) {
    const uint64_t value = uint64_t{index(flows.from[i])} << 32 | index(flows.to[i]);
    keys.push_back({as_signed(value), i});
  }
  std::vector<SortKey> scratch;
  sort_by_value(keys, scratch);
  std::vector<uint32_t> order(keys.size());
  std::transform(keys.begin(), keys.end(), order.begin(),
                 [](const SortKey& key) { return key.row; });
  permute(flows.from, order);
  permute(flows.to, order);
  permute(flows.from_ns, order);
  permute(flows.to_ns, order);
  permute(flows.label, order);
  permute(flows.id, order);
}

void TraceBuilder::bind_allocations() {
  AllocationColumns& columns = data_.allocations;
  std::vector<uint32_t> order(columns.time_ns.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto by_time = [&](uint32_t a, uint32_t b) {
    return columns.time_ns[a] < columns.time_ns[b];
  };
  if (!std::is_sorted(order.begin(), order.end(), by_time)) {
    std::stable_sort(order.begin(), order.end(), by_time);
    permute(columns.time_ns, order);
    permute(columns.track, order);
    permute(columns.address, order);
    permute(columns.bytes, order);
    permute(columns.device_type, order);
    permute(columns.device_id, order);
    permute(columns.total_allocated_bytes, order);
    permute(columns.total_reserved_bytes, order);
  }
  std::vector<PointInTime> places;
  places.reserve(columns.time_ns.size());
  for (size_t i = 0; i < columns.time_ns.size(); ++i) {
    places.push_back({columns.time_ns[i], columns.track[i], false});
  }
  columns.slice = find_slices(data_.tracks, data_.slices, data_.labels, places);
}

void TraceBuilder::find_time_range() {
  int64_t begin_ns = std::numeric_limits<int64_t>::max();
  int64_t end_ns = std::numeric_limits<int64_t>::min();
  const auto include = [&](int64_t ns) {
    begin_ns = std::min(begin_ns, ns);
    end_ns = std::max(end_ns, ns);
  };
  const SliceColumns& slices = data_.slices;
  for (uint32_t row = 0; row < slices.size(); ++row) {
    begin_ns = std::min(begin_ns, slices.start_ns[row]);
    end_ns = std::max(end_ns, slices.end_ns(row));
  }
  for (const int64_t ns : data_.counters.time_ns) include(ns);
  for (const int64_t ns : data_.samples.time_ns) include(ns);
  for (const int64_t ns : data_.allocations.time_ns) include(ns);
  if (begin_ns > end_ns) begin_ns = end_ns = 0;
  data_.begin_ns = begin_ns;
  data_.end_ns = end_ns;
}

}  // namespace stepscope
