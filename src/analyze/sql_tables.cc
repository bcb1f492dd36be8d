#include "analyze/sql_tables.h"

#include "analyze/sql_columns.h"

#include <algorithm>
#include <utility>

namespace stepscope {
namespace {

using Data = SqlTraceData;

void narrow_counter_track(Data& data, SqlOp op, sqlite3_value* value, RowPlan& plan) {
  const Track* track = find_track(data.trace, op, value, plan);
  if (track != nullptr) plan.keep(track->first_value, track->first_value + track->value_count);
}

void set_foreign(const Trace& trace, SqlCell& cell, const ForeignId& id) {
  id.text != kEmptyString ? cell.set(trace.string(id.text)) : cell.set(id.number);
}

const Track& track_at(Data& data, uint64_t row) { return data.trace.tracks()[row]; }

constexpr SqlColumnSpec kTracks[] = {
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

constexpr SqlColumnSpec kCounters[] = {
    {"track_id", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(int64_t{counter_track(data, row, cell.hint())});
     },
     SqlSearch::kFew, narrow_counter_track},
    {"name", "TEXT",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(data.trace.string(track_at(data, counter_track(data, row, cell.hint())).name));
     }},
    {"series", "TEXT",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(data.trace.string(track_at(data, counter_track(data, row, cell.hint())).series));
     }},
    {"time_ns", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(data.trace.counters().time_ns[row] - data.trace.begin_ns());
     }},
    {"value", "REAL",
     [](Data& data, uint64_t row, SqlCell& cell) { cell.set(data.trace.counters().value[row]); }},
};

constexpr SqlColumnSpec kFlows[] = {
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
     [](Data& data, uint64_t row, SqlCell& cell) { set_id(cell, data.trace.flows().from[row]); },
     SqlSearch::kOrder,
     [](Data& data, SqlOp op, sqlite3_value* value, RowPlan& plan) {
       narrow_by_order(
           data.flows_by_from(), [&](uint32_t row) { return data.trace.flows().from[row]; }, op,
           value, plan);
     }},
    {"to_slice", "INTEGER",
     [](Data& data, uint64_t row, SqlCell& cell) { set_id(cell, data.trace.flows().to[row]); },
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

constexpr SqlColumnSpec kArgs[] = {
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

constexpr SqlColumnSpec kStrings[] = {
    {"id", "INTEGER",
     [](Data&, uint64_t row, SqlCell& cell) { cell.set(static_cast<int64_t>(row)); },
     SqlSearch::kUnique, narrow_row},
    {"text", "TEXT",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(data.trace.string(StringId{static_cast<uint32_t>(row)}));
     }},
};

void set_total(SqlCell& cell, int64_t bytes) { bytes < 0 ? cell.set_null() : cell.set(bytes); }

constexpr SqlColumnSpec kAllocations[] = {
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
       set_id(cell, data.trace.allocations().slice[row]);
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

constexpr SqlColumnSpec kSamples[] = {
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

constexpr SqlColumnSpec kStacks[] = {
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

constexpr SqlColumnSpec kFrames[] = {
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

constexpr SqlColumnSpec kCallEdges[] = {
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

constexpr SqlColumnSpec kMetadata[] = {
    {"key", "TEXT",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(std::string_view(data.metadata()[row].first));
     }},
    {"value", "TEXT",
     [](Data& data, uint64_t row, SqlCell& cell) {
       cell.set(std::string_view(data.metadata()[row].second));
     }},
};

constexpr SqlColumnSpec kStats[] = {
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
  sources.push_back(
      {"slices", [&data]() -> Result<std::unique_ptr<SqlTable>> { return make_slice_table(data); },
       nullptr});
  const auto add = [&](const char* name, std::span<const SqlColumnSpec> specs, uint64_t rows) {
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
