// The table `slices`: the one that is large, and so the one with the most searches.
#include "analyze/sql_columns.h"
#include "analyze/sql_tables.h"

#include <algorithm>

namespace stepscope {
namespace {

using Data = SqlTraceData;

int64_t add_saturating(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? INT64_MAX : INT64_MIN;
}

void narrow_slice_track(Data& data, SqlOp op, sqlite3_value* value, RowPlan& plan) {
  const Track* track = find_track(data.trace, op, value, plan);
  if (track != nullptr)
    plan.keep(track->first_slice, uint64_t{track->first_slice} + track->slice_count);
}

// Within a track slices are in order of time.
void narrow_slice_start(Data& data, SqlOp op, sqlite3_value* value, RowPlan& plan) {
  const auto interval = interval_of(op, value);
  if (!interval) return;
  const int64_t first_ns = add_saturating(interval->first, data.trace.begin_ns());
  const int64_t last_ns = add_saturating(interval->last, data.trace.begin_ns());
  const std::vector<int64_t>& start_ns = data.trace.slices().start_ns;
  std::vector<RowRange> ranges;
  for (const Track& track : data.trace.tracks()) {
    if (track.slice_count == 0) continue;
    const auto begin = start_ns.begin() + track.first_slice;
    const auto end = begin + track.slice_count;
    const auto from = std::lower_bound(begin, end, first_ns);
    const auto to = std::upper_bound(from, end, last_ns);
    if (from < to) {
      ranges.push_back({static_cast<uint64_t>(from - start_ns.begin()),
                        static_cast<uint64_t>(to - start_ns.begin())});
    }
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const RowRange& a, const RowRange& b) { return a.begin < b.begin; });
  plan.keep(ranges);
}

// Children follow their parent and start before its end.
void narrow_parent(Data& data, SqlOp op, sqlite3_value* value, RowPlan& plan) {
  const auto interval = interval_of(op, value);
  if (!interval) return;
  const SliceColumns& slices = data.trace.slices();
  if (interval->first < 0 || static_cast<uint64_t>(interval->first) >= slices.size()) {
    return plan.keep_none();
  }
  const auto parent = static_cast<uint32_t>(interval->first);
  const Track& track = data.trace.tracks()[index(data.trace.find_track_of(SliceId{parent}))];
  const auto begin = slices.start_ns.begin() + parent + 1;
  const auto end = slices.start_ns.begin() + track.first_slice + track.slice_count;
  const auto last = std::lower_bound(begin, end, slices.end_ns(parent));
  plan.keep(uint64_t{parent} + 1, static_cast<uint64_t>(last - slices.start_ns.begin()));
}

template <typename Matches>
void mark_labels(Data& data, RowPlan& plan, const Matches& matches) {
  const std::vector<Label>& labels = data.trace.labels().all();
  if (labels.empty()) return plan.keep_none();
  std::vector<uint8_t> marked(labels.size());
  for (size_t i = 0; i < labels.size(); ++i) marked[i] = matches(labels[i]) ? 1 : 0;
  plan.keep_labels(marked);
}

void narrow_name(Data& data, SqlOp, sqlite3_value* value, RowPlan& plan) {
  if (const auto text = text_of(value)) {
    mark_labels(data, plan,
                [&](const Label& label) { return data.trace.string(label.name) == *text; });
  }
}

void narrow_category(Data& data, SqlOp, sqlite3_value* value, RowPlan& plan) {
  if (const auto text = text_of(value)) {
    mark_labels(data, plan,
                [&](const Label& label) { return data.trace.string(label.category) == *text; });
  }
}

void narrow_kind(Data& data, SqlOp, sqlite3_value* value, RowPlan& plan) {
  if (const auto text = text_of(value)) {
    mark_labels(data, plan, [&](const Label& label) { return kind_name(label.kind) == *text; });
  }
}

const Label& label_of_slice(Data& data, uint64_t row) {
  return data.trace.labels()[data.trace.slices().label[row]];
}

constexpr SqlColumnSpec kSlices[] = {
    {"id", "INTEGER",
     [](Data&, uint64_t row, SqlCell& cell) { cell.set(static_cast<int64_t>(row)); },
     SqlSearch::kUnique, narrow_row},
    {"track_id", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       const auto tracks = data.trace.tracks();
       uint32_t& track = cell.hint();
       if (track >= tracks.size() || row < tracks[track].first_slice ||
           row >= uint64_t{tracks[track].first_slice} + tracks[track].slice_count) {
         track = index(data.trace.find_track_of(SliceId{static_cast<uint32_t>(row)}));
       }
       cell.set(int64_t{track});
     },
     SqlSearch::kFew, narrow_slice_track},
    {"name", "TEXT",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(data.trace.string(label_of_slice(data, row).name));
     },
     SqlSearch::kLabel, narrow_name},
    {"category", "TEXT",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(data.trace.string(label_of_slice(data, row).category));
     },
     SqlSearch::kLabel, narrow_category},
    {"kind", "TEXT",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(kind_name(label_of_slice(data, row).kind));
     },
     SqlSearch::kLabel, narrow_kind},
    {"start_ns", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(data.trace.slices().start_ns[row] - data.trace.begin_ns());
     },
     SqlSearch::kRange, narrow_slice_start},
    {"dur_ns", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) { cell.set(data.trace.slices().dur_ns[row]); }},
    {"self_ns", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) { cell.set(data.self_ns()[row]); }},
    {"parent_id", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) { set_id(cell, data.trace.slices().parent[row]); },
     SqlSearch::kLookup, narrow_parent},
    {"depth", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(int64_t{data.trace.slices().depth[row]});
     }},
};

class SliceTable : public TraceTable {
 public:
  explicit SliceTable(Data& data) : TraceTable(data, kSlices, data.trace.slices().size()) {}

  uint32_t label_of(uint64_t row) const override { return index(data_.trace.slices().label[row]); }
  // The order is by name, category, kind: columns 2, 3, 4.
  bool has_order(std::span<const size_t> columns) const override {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (i > 2 || columns[i] != i + 2) return false;
    }
    return true;
  }
  const std::vector<uint32_t>& order() override { return data_.slices_by_name(); }
};

}  // namespace

std::unique_ptr<SqlTable> make_slice_table(SqlTraceData& data) {
  return std::make_unique<SliceTable>(data);
}

}  // namespace stepscope
