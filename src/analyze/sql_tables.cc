#include "analyze/sql_tables.h"

#include "analyze/self_time.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

namespace stepscope {

namespace {

template <typename Key>
const std::vector<uint32_t>& make_order(std::vector<uint32_t>& rows, size_t count, const Key& key) {
  if (rows.size() == count) return rows;
  rows.resize(count);
  std::iota(rows.begin(), rows.end(), 0);
  std::stable_sort(rows.begin(), rows.end(),
                   [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  return rows;
}

}  // namespace

const std::vector<int64_t>& SqlTraceData::self_ns() {
  if (self_ns_.empty()) self_ns_ = build_self_ns(trace);
  return self_ns_;
}

const std::vector<uint32_t>& SqlTraceData::slices_by_name() {
  const SliceColumns& slices = trace.slices();
  if (slices_by_name_.size() == slices.size()) return slices_by_name_;
  // Labels are few: they are sorted, and the slices counted into their places.
  const std::vector<Label>& labels = trace.labels().all();
  std::vector<uint32_t> sorted(labels.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  const auto key = [&](uint32_t i) {
    return std::tuple(trace.string(labels[i].name), trace.string(labels[i].category),
                      kind_name(labels[i].kind));
  };
  std::sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  std::vector<uint32_t> place(labels.size(), 0);
  for (const LabelId label : slices.label) ++place[index(label)];
  uint32_t next = 0;
  for (const uint32_t label : sorted) next += std::exchange(place[label], next);
  slices_by_name_.resize(slices.size());
  for (uint32_t row = 0; row < slices.size(); ++row) {
    slices_by_name_[place[index(slices.label[row])]++] = row;
  }
  return slices_by_name_;
}

const std::vector<uint32_t>& SqlTraceData::flows_by_from() {
  return make_order(flows_by_from_, trace.flows().from.size(),
                    [&](uint32_t row) { return index(trace.flows().from[row]); });
}

const std::vector<uint32_t>& SqlTraceData::flows_by_to() {
  return make_order(flows_by_to_, trace.flows().to.size(),
                    [&](uint32_t row) { return index(trace.flows().to[row]); });
}

const std::vector<uint32_t>& SqlTraceData::allocations_by_slice() {
  return make_order(allocations_by_slice_, trace.allocations().slice.size(),
                    [&](uint32_t row) { return index(trace.allocations().slice[row]); });
}

const std::vector<uint64_t>& SqlTraceData::arg_offsets() {
  if (arg_offsets_.empty()) {
    uint64_t rows = 0;
    arg_offsets_.push_back(rows);
    for (const ArgColumn& column : trace.args()) arg_offsets_.push_back(rows += column.rows.size());
  }
  return arg_offsets_;
}

std::vector<std::pair<std::string, std::string>>& SqlTraceData::metadata() {
  if (metadata_.empty()) {
    metadata_ = {{"source", trace.source()},
                 {"format", trace.format()},
                 {"begin_ns", std::to_string(trace.begin_ns())},
                 {"end_ns", std::to_string(trace.end_ns())},
                 {"clock_base_ns", std::to_string(trace.clock_base_ns())}};
    for (const MetadataEntry& entry : trace.metadata()) {
      metadata_.emplace_back(trace.string(entry.key), trace.string(entry.value));
    }
  }
  return metadata_;
}

namespace {

using Data = SqlTraceData;

struct ColumnSpec {
  const char* name;
  const char* type;
  void (*get)(Data&, uint64_t row, SqlCell&);
  SqlSearch search = SqlSearch::kNone;
  void (*narrow)(Data&, SqlOp, sqlite3_value*, RowPlan&) = nullptr;
};

class TraceTable : public SqlTable {
 public:
  TraceTable(Data& data, std::span<const ColumnSpec> specs, uint64_t rows)
      : data_(data), specs_(specs), rows_(rows) {
    for (const ColumnSpec& spec : specs) columns_.push_back({spec.name, spec.type, spec.search});
  }

  std::span<const SqlColumn> columns() const override { return columns_; }
  uint64_t rows() const override { return rows_; }
  void get(uint64_t row, size_t column, SqlCell& cell) const override {
    specs_[column].get(data_, row, cell);
  }
  void search(size_t column, SqlOp op, sqlite3_value* value, RowPlan& plan) override {
    specs_[column].narrow(data_, op, value, plan);
  }

 protected:
  Data& data_;

 private:
  std::span<const ColumnSpec> specs_;
  uint64_t rows_;
  std::vector<SqlColumn> columns_;
};

struct Interval {  // both ends belong to it
  int64_t first = INT64_MIN, last = INT64_MAX;
};

// The whole numbers that a condition allows; nothing where the value is no whole number, and the
// search is left to SQLite.
std::optional<Interval> interval_of(SqlOp op, sqlite3_value* value) {
  if (sqlite3_value_type(value) != SQLITE_INTEGER) return std::nullopt;
  const int64_t number = sqlite3_value_int64(value);
  Interval interval;
  switch (op) {
    case SqlOp::kEqual:
      return Interval{number, number};
    case SqlOp::kLess:
      if (number == INT64_MIN) return std::nullopt;
      interval.last = number - 1;
      break;
    case SqlOp::kLessEqual:
      interval.last = number;
      break;
    case SqlOp::kGreater:
      if (number == INT64_MAX) return std::nullopt;
      interval.first = number + 1;
      break;
    case SqlOp::kGreaterEqual:
      interval.first = number;
      break;
  }
  return interval;
}

int64_t add_saturating(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? INT64_MAX : INT64_MIN;
}

void narrow_row(Data&, SqlOp op, sqlite3_value* value, RowPlan& plan) {
  const auto interval = interval_of(op, value);
  if (!interval) return;
  if (interval->last < 0) return plan.keep_none();
  plan.keep(static_cast<uint64_t>(std::max<int64_t>(interval->first, 0)),
            static_cast<uint64_t>(interval->last) + 1);
}

// The track that a condition names, or null after it was found that there is none.
const Track* find_track(Data& data, SqlOp op, sqlite3_value* value, RowPlan& plan, bool& is_known) {
  const auto interval = interval_of(op, value);
  is_known = interval.has_value();
  if (!is_known) return nullptr;
  const auto tracks = data.trace.tracks();
  if (interval->first < 0 || static_cast<uint64_t>(interval->first) >= tracks.size()) {
    plan.keep_none();
    return nullptr;
  }
  return &tracks[static_cast<size_t>(interval->first)];
}

void narrow_slice_track(Data& data, SqlOp op, sqlite3_value* value, RowPlan& plan) {
  bool is_known = false;
  const Track* track = find_track(data, op, value, plan, is_known);
  if (track != nullptr)
    plan.keep(track->first_slice, uint64_t{track->first_slice} + track->slice_count);
}

void narrow_counter_track(Data& data, SqlOp op, sqlite3_value* value, RowPlan& plan) {
  bool is_known = false;
  const Track* track = find_track(data, op, value, plan, is_known);
  if (track != nullptr) plan.keep(track->first_value, track->first_value + track->value_count);
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

std::optional<std::string_view> text_of(sqlite3_value* value) {
  if (sqlite3_value_type(value) != SQLITE_TEXT) return std::nullopt;
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  if (text == nullptr) return std::nullopt;
  return std::string_view(text, static_cast<size_t>(sqlite3_value_bytes(value)));
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

// Equality with a slice, through an order of rows by it.
template <typename SliceOf>
void narrow_by_order(const std::vector<uint32_t>& order, const SliceOf& slice_of, SqlOp op,
                     sqlite3_value* value, RowPlan& plan) {
  const auto interval = interval_of(op, value);
  if (!interval) return;
  const int64_t wanted = interval->first;
  const auto from = std::lower_bound(
      order.begin(), order.end(), wanted,
      [&](uint32_t row, int64_t id) { return int64_t{index(slice_of(row))} < id; });
  const auto to = std::upper_bound(from, order.end(), wanted, [&](int64_t id, uint32_t row) {
    return id < int64_t{index(slice_of(row))};
  });
  plan.use_order(order);
  plan.keep(static_cast<uint64_t>(from - order.begin()), static_cast<uint64_t>(to - order.begin()));
}

void set_slice(SqlCell& cell, SliceId slice) {
  slice == kNoSlice ? cell.set_null() : cell.set(int64_t{index(slice)});
}

void set_foreign(const Trace& trace, SqlCell& cell, const ForeignId& id) {
  id.text != kEmptyString ? cell.set(trace.string(id.text)) : cell.set(id.number);
}

const Label& label_of_slice(Data& data, uint64_t row) {
  return data.trace.labels()[data.trace.slices().label[row]];
}

constexpr ColumnSpec kSlices[] = {
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
     [](Data& data, uint64_t row, SqlCell& cell) {
       set_slice(cell, data.trace.slices().parent[row]);
     },
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

const Track& track_at(Data& data, uint64_t row) { return data.trace.tracks()[row]; }

constexpr ColumnSpec kTracks[] = {
    {"id", "INTEGER",
     [](Data&, uint64_t row, SqlCell& cell) { cell.set(static_cast<int64_t>(row)); },
     SqlSearch::kUnique, narrow_row},
    {"kind", "TEXT",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(track_kind_name(track_at(data, row).kind));
     }},
    {"process", "TEXT",
     [](Data& data, uint64_t row, SqlCell& cell) {
       const uint32_t process = track_at(data, row).process;
       if (process >= data.trace.processes().size()) return cell.set_null();
       cell.set(data.trace.string(data.trace.processes()[process].name));
     }},
    {"pid", "",
     [](Data& data, uint64_t row, SqlCell& cell) {
       const uint32_t process = track_at(data, row).process;
       if (process >= data.trace.processes().size()) return cell.set_null();
       set_foreign(data.trace, cell, data.trace.processes()[process].pid);
     }},
    {"tid", "",
     [](Data& data, uint64_t row, SqlCell& cell) {
       set_foreign(data.trace, cell, track_at(data, row).tid);
     }},
    {"name", "TEXT",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(data.trace.string(track_at(data, row).name));
     }},
    {"device", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       const int32_t device = track_at(data, row).device;
       device < 0 ? cell.set_null() : cell.set(int64_t{device});
     }},
    {"stream", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       const int64_t stream = track_at(data, row).stream;
       stream < 0 ? cell.set_null() : cell.set(stream);
     }},
    {"slice_count", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(int64_t{track_at(data, row).slice_count});
     }},
};

uint32_t counter_track(Data& data, uint64_t row, uint32_t& hint) {
  const auto tracks = data.trace.tracks();
  const auto holds = [&](uint32_t track) {
    return track < tracks.size() && row >= tracks[track].first_value &&
           row - tracks[track].first_value < tracks[track].value_count;
  };
  if (!holds(hint)) {
    for (hint = 0; hint + 1 < tracks.size() && !holds(hint);) ++hint;
  }
  return hint;
}

constexpr ColumnSpec kCounters[] = {
    {"track_id", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(int64_t{counter_track(data, row, cell.hint())});
     },
     SqlSearch::kFew, narrow_counter_track},
    {"name", "TEXT",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(data.trace.string(track_at(data, counter_track(data, row, cell.hint())).name));
     }},
    {"time_ns", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(data.trace.counters().time_ns[row] - data.trace.begin_ns());
     }},
    {"value", "REAL",
     [](Data& data, uint64_t row, SqlCell& cell) { cell.set(data.trace.counters().value[row]); }},
};

constexpr ColumnSpec kFlows[] = {
    {"id", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(static_cast<int64_t>(data.trace.flows().id[row]));
     }},
    {"name", "TEXT",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(data.trace.string(data.trace.labels()[data.trace.flows().label[row]].name));
     }},
    {"category", "TEXT",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(data.trace.string(data.trace.labels()[data.trace.flows().label[row]].category));
     }},
    {"from_slice", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) { set_slice(cell, data.trace.flows().from[row]); },
     SqlSearch::kOrder,
     [](Data& data, SqlOp op, sqlite3_value* value, RowPlan& plan) {
       narrow_by_order(
           data.flows_by_from(), [&](uint32_t row) { return data.trace.flows().from[row]; }, op,
           value, plan);
     }},
    {"to_slice", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) { set_slice(cell, data.trace.flows().to[row]); },
     SqlSearch::kOrder,
     [](Data& data, SqlOp op, sqlite3_value* value, RowPlan& plan) {
       narrow_by_order(
           data.flows_by_to(), [&](uint32_t row) { return data.trace.flows().to[row]; }, op, value,
           plan);
     }},
    {"from_ns", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(data.trace.flows().from_ns[row] - data.trace.begin_ns());
     }},
    {"to_ns", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(data.trace.flows().to_ns[row] - data.trace.begin_ns());
     }},
};

// The argument's column that holds the row, and the row's place in it.
std::pair<const ArgColumn*, size_t> arg_at(Data& data, uint64_t row, uint32_t& hint) {
  const std::vector<uint64_t>& offsets = data.arg_offsets();
  if (hint + 1 >= offsets.size() || row < offsets[hint] || row >= offsets[hint + 1]) {
    hint = static_cast<uint32_t>(std::upper_bound(offsets.begin(), offsets.end(), row) -
                                 offsets.begin() - 1);
  }
  return {&data.trace.args()[hint], static_cast<size_t>(row - offsets[hint])};
}

void narrow_arg_slice(Data& data, SqlOp op, sqlite3_value* value, RowPlan& plan) {
  const auto interval = interval_of(op, value);
  if (!interval) return;
  if (interval->first < 0 || interval->first >= int64_t{UINT32_MAX}) return plan.keep_none();
  const SliceId slice{static_cast<uint32_t>(interval->first)};
  std::vector<RowRange> ranges;
  for (size_t i = 0; i < data.trace.args().size(); ++i) {
    if (const auto at = data.trace.args()[i].find(slice)) {
      const uint64_t row = data.arg_offsets()[i] + *at;
      ranges.push_back({row, row + 1});
    }
  }
  plan.keep(ranges);
}

void narrow_arg_key(Data& data, SqlOp, sqlite3_value* value, RowPlan& plan) {
  const auto key = text_of(value);
  if (!key) return;
  std::vector<RowRange> ranges;
  for (size_t i = 0; i < data.trace.args().size(); ++i) {
    if (data.trace.string(data.trace.args()[i].key) == *key) {
      ranges.push_back({data.arg_offsets()[i], data.arg_offsets()[i + 1]});
    }
  }
  plan.keep(ranges);
}

std::string_view arg_type_name(ArgType type) {
  switch (type) {
    case ArgType::kInt:
      return "int";
    case ArgType::kDouble:
      return "double";
    case ArgType::kString:
      return "string";
    case ArgType::kBool:
      return "bool";
    case ArgType::kJson:
      return "json";
  }
  return "";
}

constexpr ColumnSpec kArgs[] = {
    {"slice_id", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       const auto [column, at] = arg_at(data, row, cell.hint());
       cell.set(int64_t{index(column->rows[at])});
     },
     SqlSearch::kLookup, narrow_arg_slice},
    {"key", "TEXT",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(data.trace.string(arg_at(data, row, cell.hint()).first->key));
     },
     SqlSearch::kFew, narrow_arg_key},
    {"type", "TEXT",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(arg_type_name(arg_at(data, row, cell.hint()).first->type));
     }},
    {"value", "",
     [](Data& data, uint64_t row, SqlCell& cell) {
       const auto [column, at] = arg_at(data, row, cell.hint());
       switch (column->type) {
         case ArgType::kInt:
         case ArgType::kBool:
           return cell.set(column->ints[at]);
         case ArgType::kDouble:
           return cell.set(column->doubles[at]);
         case ArgType::kString:
         case ArgType::kJson:
           return cell.set(data.trace.string(column->string(at)));
       }
     }},
};

constexpr ColumnSpec kStrings[] = {
    {"id", "INTEGER",
     [](Data&, uint64_t row, SqlCell& cell) { cell.set(static_cast<int64_t>(row)); },
     SqlSearch::kUnique, narrow_row},
    {"text", "TEXT",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(data.trace.string(StringId{static_cast<uint32_t>(row)}));
     }},
};

void set_total(SqlCell& cell, int64_t bytes) { bytes < 0 ? cell.set_null() : cell.set(bytes); }

constexpr ColumnSpec kAllocations[] = {
    {"time_ns", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(data.trace.allocations().time_ns[row] - data.trace.begin_ns());
     }},
    {"track_id", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(int64_t{index(data.trace.allocations().track[row])});
     }},
    {"slice_id", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       set_slice(cell, data.trace.allocations().slice[row]);
     },
     SqlSearch::kOrder,
     [](Data& data, SqlOp op, sqlite3_value* value, RowPlan& plan) {
       narrow_by_order(
           data.allocations_by_slice(),
           [&](uint32_t row) { return data.trace.allocations().slice[row]; }, op, value, plan);
     }},
    {"address", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(static_cast<int64_t>(data.trace.allocations().address[row]));
     }},
    {"bytes", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(data.trace.allocations().bytes[row]);
     }},
    {"device_type", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(int64_t{data.trace.allocations().device_type[row]});
     }},
    {"device_id", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(int64_t{data.trace.allocations().device_id[row]});
     }},
    {"total_allocated_bytes", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       set_total(cell, data.trace.allocations().total_allocated_bytes[row]);
     }},
    {"total_reserved_bytes", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       set_total(cell, data.trace.allocations().total_reserved_bytes[row]);
     }},
};

template <typename Id>
void set_id(SqlCell& cell, Id id) {
  index(id) == UINT32_MAX ? cell.set_null() : cell.set(int64_t{index(id)});
}

constexpr ColumnSpec kSamples[] = {
    {"time_ns", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(data.trace.samples().time_ns[row] - data.trace.begin_ns());
     }},
    {"track_id", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(int64_t{index(data.trace.samples().track[row])});
     }},
    {"stack_id", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       set_id(cell, data.trace.samples().stack[row]);
     }},
    {"weight_ns", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(data.trace.samples().weight_ns[row]);
     }},
};

constexpr ColumnSpec kStacks[] = {
    {"id", "INTEGER",
     [](Data&, uint64_t row, SqlCell& cell) { cell.set(static_cast<int64_t>(row)); },
     SqlSearch::kUnique, narrow_row},
    {"parent_id", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       set_id(cell, data.trace.stacks()[row].parent);
     }},
    {"frame_id", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) { set_id(cell, data.trace.stacks()[row].frame); }},
};

constexpr ColumnSpec kFrames[] = {
    {"id", "INTEGER",
     [](Data&, uint64_t row, SqlCell& cell) { cell.set(static_cast<int64_t>(row)); },
     SqlSearch::kUnique, narrow_row},
    {"name", "TEXT",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(data.trace.string(data.trace.frames()[row].name));
     }},
    {"file", "TEXT",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(data.trace.string(data.trace.frames()[row].file));
     }},
    {"line", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(int64_t{data.trace.frames()[row].line});
     }},
};

constexpr ColumnSpec kCallEdges[] = {
    {"caller_id", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       set_id(cell, data.trace.call_edges().caller[row]);
     }},
    {"callee_id", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       set_id(cell, data.trace.call_edges().callee[row]);
     }},
    {"calls", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(static_cast<int64_t>(data.trace.call_edges().calls[row]));
     }},
    {"primitive_calls", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(static_cast<int64_t>(data.trace.call_edges().primitive_calls[row]));
     }},
    {"self_ns", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(data.trace.call_edges().self_ns[row]);
     }},
    {"total_ns", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(data.trace.call_edges().total_ns[row]);
     }},
};

constexpr ColumnSpec kMetadata[] = {
    {"key", "TEXT",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(std::string_view(data.metadata()[row].first));
     }},
    {"value", "TEXT",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(std::string_view(data.metadata()[row].second));
     }},
};

constexpr ColumnSpec kStats[] = {
    {"name", "TEXT",
     [](Data&, uint64_t row, SqlCell& cell) { cell.set(stat_name(static_cast<Stat>(row))); }},
    {"value", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(static_cast<int64_t>(data.trace.stats().get(static_cast<Stat>(row))));
     }},
    {"is_fault", "INTEGER",
     [](Data&, uint64_t row, SqlCell& cell) {
       cell.set(int64_t{stat_is_fault(static_cast<Stat>(row)) ? 1 : 0});
     }},
};

}  // namespace

std::vector<SqlTableSource> make_trace_tables(SqlTraceData& data) {
  const Trace& trace = data.trace;
  std::vector<SqlTableSource> sources;
  sources.push_back({"slices",
                     [&data]() -> Result<std::unique_ptr<SqlTable>> {
                       return std::unique_ptr<SqlTable>(std::make_unique<SliceTable>(data));
                     },
                     nullptr});
  const auto add = [&](const char* name, std::span<const ColumnSpec> specs, uint64_t rows) {
    sources.push_back({name,
                       [&data, specs, rows]() -> Result<std::unique_ptr<SqlTable>> {
                         return std::unique_ptr<SqlTable>(
                             std::make_unique<TraceTable>(data, specs, rows));
                       },
                       nullptr});
  };
  add("tracks", kTracks, trace.tracks().size());
  add("counters", kCounters, trace.counters().time_ns.size());
  add("flows", kFlows, trace.flows().from.size());
  add("args", kArgs, data.arg_offsets().back());
  add("strings", kStrings, trace.strings().size());
  add("allocations", kAllocations, trace.allocations().time_ns.size());
  add("samples", kSamples, trace.samples().time_ns.size());
  add("stacks", kStacks, trace.stacks().size());
  add("frames", kFrames, trace.frames().size());
  add("call_edges", kCallEdges, trace.call_edges().callee.size());
  add("metadata", kMetadata, data.metadata().size());
  add("stats", kStats, kStatCount);
  return sources;
}

}  // namespace stepscope
