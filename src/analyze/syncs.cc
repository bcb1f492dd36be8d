// The view `syncs`: which calls make the host wait for a device, in which operator and function,
// how long, and for what. A row per call, operator (the outermost around it) and function (the
// innermost Python function around it, where the trace has any). wait_ns is the part of total_ns
// until the work that was waited for was done; waits_for is what most of that time was waited for.
// --by call shows each call.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "analyze/device_slices.h"
#include "analyze/gpu_breakdown.h"
#include "analyze/slice_filter.h"
#include "analyze/sync_calls.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

struct Surroundings {
  StringId operator_name = kEmptyString;
  StringId function = kEmptyString;
};

Surroundings find_surroundings(const Trace& trace, uint32_t row) {
  const SliceColumns& slices = trace.slices();
  Surroundings found;
  for (SliceId at = slices.parent[row]; at != kNoSlice; at = slices.parent[index(at)]) {
    const Label& label = trace.labels()[slices.label[index(at)]];
    if (label.kind == SliceKind::kOperator) found.operator_name = label.name;
    if (label.kind == SliceKind::kPython && found.function == kEmptyString) {
      found.function = label.name;
    }
  }
  return found;
}

void push_name(Column& column, const Trace& trace, StringId name) {
  if (name == kEmptyString) {
    column.push_null();
  } else {
    column.push(trace.string(name));
  }
}

bool is_sync_taken(const Trace& trace, const SliceFilter& filter, const SyncCall& call) {
  return filter.takes_all() || (filter.takes_time(trace.slices().start_ns[call.row]) &&
                                filter.takes_track(trace.find_track_of(SliceId{call.row})));
}

Table make_sync_groups(const Trace& trace, std::span<const SyncCall> calls,
                       const SliceFilter& filter) {
  struct Waits {
    uint64_t calls = 0;
    int64_t total_ns = 0;
    int64_t wait_ns = 0;
    int64_t max_ns = 0;
    std::map<StringId, int64_t> by_work;
  };
  std::map<std::tuple<StringId, StringId, StringId>, Waits> groups;
  for (const SyncCall& call : calls) {
    if (!is_sync_taken(trace, filter, call)) continue;
    const Surroundings around = find_surroundings(trace, call.row);
    const StringId name = trace.labels()[trace.slices().label[call.row]].name;
    Waits& waits = groups[{name, around.operator_name, around.function}];
    const int64_t dur_ns = trace.slices().dur_ns[call.row];
    ++waits.calls;
    waits.total_ns += dur_ns;
    waits.wait_ns += call.wait_ns;
    waits.max_ns = std::max(waits.max_ns, dur_ns);
    if (call.work == kNoRow) continue;
    waits.by_work[trace.labels()[trace.slices().label[call.work]].name] += call.wait_ns;
  }
  Table table("syncs");
  Column& name = table.add("name", ColumnType::kString);
  Column& operator_name = table.add("operator", ColumnType::kString);
  Column& function = table.add("function", ColumnType::kString);
  Column& count = table.add("calls", ColumnType::kInt, Unit::kCount);
  Column& total = table.add("total_ns", ColumnType::kInt, Unit::kNs);
  Column& wait = table.add("wait_ns", ColumnType::kInt, Unit::kNs);
  Column& mean = table.add("mean_ns", ColumnType::kInt, Unit::kNs);
  Column& max = table.add("max_ns", ColumnType::kInt, Unit::kNs);
  Column& waits_for = table.add("waits_for", ColumnType::kString);
  for (const auto& [key, waits] : groups) {
    name.push(trace.string(std::get<0>(key)));
    push_name(operator_name, trace, std::get<1>(key));
    push_name(function, trace, std::get<2>(key));
    count.push(static_cast<int64_t>(waits.calls));
    total.push(waits.total_ns);
    wait.push(waits.wait_ns);
    mean.push(waits.total_ns / static_cast<int64_t>(waits.calls));
    max.push(waits.max_ns);
    const auto most =
        std::max_element(waits.by_work.begin(), waits.by_work.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    push_name(waits_for, trace, most == waits.by_work.end() ? kEmptyString : most->first);
  }
  table.default_sort = "-total_ns";
  return table;
}

Table make_sync_calls(const Trace& trace, std::span<const SyncCall> calls,
                      const SliceFilter& filter) {
  Table table("syncs");
  Column& name = table.add("name", ColumnType::kString);
  Column& operator_name = table.add("operator", ColumnType::kString);
  Column& function = table.add("function", ColumnType::kString);
  Column& start = table.add("start_ns", ColumnType::kInt, Unit::kNs);
  Column& dur = table.add("dur_ns", ColumnType::kInt, Unit::kNs);
  Column& wait = table.add("wait_ns", ColumnType::kInt, Unit::kNs);
  Column& waits_for = table.add("waits_for", ColumnType::kString);
  Column& stream = table.add("stream", ColumnType::kInt);
  for (const SyncCall& call : calls) {
    if (!is_sync_taken(trace, filter, call)) continue;
    const Surroundings around = find_surroundings(trace, call.row);
    name.push(trace.slice_name(SliceId{call.row}));
    push_name(operator_name, trace, around.operator_name);
    push_name(function, trace, around.function);
    start.push(trace.slices().start_ns[call.row] - trace.begin_ns());
    dur.push(trace.slices().dur_ns[call.row]);
    wait.push(call.wait_ns);
    if (call.work == kNoRow) {
      waits_for.push_null();
      stream.push_null();
      continue;
    }
    waits_for.push(trace.slice_name(SliceId{call.work}));
    stream.push(trace.tracks()[index(trace.find_track_of(SliceId{call.work}))].stream);
  }
  table.default_sort = "+start_ns";
  return table;
}

}  // namespace

Result<Table> syncs(const Trace& trace, const TableOptions& options) {
  const Result<SliceFilter> filter = SliceFilter::make(trace, options);
  if (!filter) return filter.status();
  if (!options.by.empty() && options.by != "call") {
    return Status::error("--by " + options.by + ": syncs can be shown by call");
  }
  const auto work = DeviceSlices::of(trace);
  const std::vector<SyncCall> calls = find_sync_calls(trace, *work);
  Table table = options.by.empty() ? make_sync_groups(trace, calls, *filter)
                                   : make_sync_calls(trace, calls, *filter);
  if (calls.empty()) table.notes.push_back("no call of this trace waits for a device");
  return table;
}

}  // namespace stepscope
