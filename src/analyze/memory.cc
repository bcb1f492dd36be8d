// The view `memory`: every allocation and release with the totals after it (the curve), and the
// innermost operator that made it. Totals are the allocator's own where the trace has them; else
// the sum since the recording began, which may be negative: memory from before is given back too.
//
// With --by operator: what each operator's calls took and gave back, alone (self_…) and with all
// that they called. An increase is what was taken less what was given back in the same call.
//
// With --by category: memory_by_category.h.
#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyze/memory_by_category.h"
#include "analyze/operator_rules.h"
#include "analyze/slice_filter.h"
#include "analyze/views.h"
#include "base/saturating.h"
#include "trace/allocation_device.h"

namespace stepscope {
namespace {

bool is_operator(const OperatorRules& rules, LabelId label) {
  const HostRole role = rules.role(label);
  return role == HostRole::kOperator || role == HostRole::kScope;
}

// The slice or the first one around it that is an operator or annotation.
SliceId find_operator(const Trace& trace, const OperatorRules& rules, SliceId at) {
  while (at != kNoSlice && !is_operator(rules, trace.slices().label[index(at)])) {
    at = trace.slices().parent[index(at)];
  }
  return at;
}

Table make_curve(const Trace& trace, const OperatorRules& rules, const SliceFilter& filter) {
  const AllocationColumns& allocations = trace.allocations();
  Table table("memory");
  Column& time = table.add("time_ns", ColumnType::kInt, Unit::kNs);
  Column& device = table.add("device", ColumnType::kString);
  Column& allocated = table.add("allocated_bytes", ColumnType::kInt, Unit::kBytes);
  Column& reserved = table.add("reserved_bytes", ColumnType::kInt, Unit::kBytes);
  Column& name = table.add("operator", ColumnType::kString);
  Column& change = table.add("change_bytes", ColumnType::kInt, Unit::kBytes);
  std::map<AllocationDevice, int64_t> sums;
  bool has_totals = true;
  for (size_t i = 0; i < allocations.time_ns.size(); ++i) {
    int64_t& sum = sums[{allocations.device_type[i], allocations.device_id[i]}];
    sum = add_saturating(sum, allocations.bytes[i]);
    if (!filter.takes_time(allocations.time_ns[i]) || !filter.takes_track(allocations.track[i])) {
      continue;
    }
    time.push(allocations.time_ns[i] - trace.begin_ns());
    device.push(device_name({allocations.device_type[i], allocations.device_id[i]}));
    const int64_t total_bytes = allocations.total_allocated_bytes[i];
    has_totals &= total_bytes >= 0;
    allocated.push(total_bytes >= 0 ? total_bytes : sum);
    if (allocations.total_reserved_bytes[i] >= 0) {
      reserved.push(allocations.total_reserved_bytes[i]);
    } else {
      reserved.push_null();
    }
    const SliceId owner = find_operator(trace, rules, allocations.slice[i]);
    if (owner != kNoSlice) {
      name.push(trace.slice_name(owner));
    } else {
      name.push_null();
    }
    change.push(allocations.bytes[i]);
  }
  if (!has_totals) {
    table.notes.push_back("the trace has no totals; allocated_bytes counts from its begin");
  }
  return table;
}

struct OperatorMemory {
  StringId name{};
  AllocationDevice device;
  int64_t self_increase_bytes = 0;
  int64_t increase_bytes = 0;
  int64_t self_allocations = 0;
  int64_t allocations = 0;
  int64_t self_allocated_bytes = 0;
  int64_t allocated_bytes = 0;
};

Table make_by_operator(const Trace& trace, const OperatorRules& rules, const SliceFilter& filter) {
  const AllocationColumns& columns = trace.allocations();
  const SliceColumns& slices = trace.slices();
  std::unordered_map<uint32_t, int64_t> calls;  // by name
  for (uint32_t row = 0; row < slices.size(); ++row) {
    if (is_operator(rules, slices.label[row]) && filter.takes_time(slices.start_ns[row])) {
      ++calls[index(rules.row_name(slices.label[row]))];
    }
  }
  std::vector<OperatorMemory> rows;
  std::map<std::pair<uint32_t, AllocationDevice>, size_t> row_ids;
  for (size_t i = 0; i < columns.time_ns.size(); ++i) {
    if (!filter.takes_time(columns.time_ns[i]) || !filter.takes_track(columns.track[i])) continue;
    bool is_self = true;
    for (SliceId at = find_operator(trace, rules, columns.slice[i]); at != kNoSlice;
         at = find_operator(trace, rules, slices.parent[index(at)])) {
      const StringId name = rules.row_name(slices.label[index(at)]);
      const AllocationDevice device{columns.device_type[i], columns.device_id[i]};
      const auto [it, is_new] = row_ids.try_emplace({index(name), device}, rows.size());
      if (is_new) rows.push_back({.name = name, .device = device});
      OperatorMemory& row = rows[it->second];
      row.increase_bytes += columns.bytes[i];
      if (is_self) row.self_increase_bytes += columns.bytes[i];
      if (columns.bytes[i] > 0) {
        ++row.allocations;
        row.allocated_bytes += columns.bytes[i];
        if (is_self) {
          ++row.self_allocations;
          row.self_allocated_bytes += columns.bytes[i];
        }
      }
      is_self = false;
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const OperatorMemory& a, const OperatorMemory& b) {
    return a.self_allocated_bytes > b.self_allocated_bytes;
  });

  Table table("memory");
  Column& name = table.add("name", ColumnType::kString);
  Column& device = table.add("device", ColumnType::kString);
  const auto add_int = [&](const char* column, Unit unit) -> Column& {
    return table.add(column, ColumnType::kInt, unit);
  };
  Column& call_count = add_int("calls", Unit::kCount);
  Column& self_increase = add_int("self_increase_bytes", Unit::kBytes);
  Column& increase = add_int("increase_bytes", Unit::kBytes);
  Column& self_allocations = add_int("self_allocations", Unit::kCount);
  Column& allocations = add_int("allocations", Unit::kCount);
  Column& self_allocated = add_int("self_allocated_bytes", Unit::kBytes);
  Column& allocated = add_int("allocated_bytes", Unit::kBytes);
  for (const OperatorMemory& row : rows) {
    const std::string_view text = trace.string(row.name);
    name.push(is_step_name(text) ? kStepRowName : text);
    device.push(device_name(row.device));
    call_count.push(calls[index(row.name)]);
    self_increase.push(row.self_increase_bytes);
    increase.push(row.increase_bytes);
    self_allocations.push(row.self_allocations);
    allocations.push(row.allocations);
    self_allocated.push(row.self_allocated_bytes);
    allocated.push(row.allocated_bytes);
  }
  return table;
}

}  // namespace

Result<Table> memory(const Trace& trace, const TableOptions& options) {
  if (!options.by.empty() && options.by != "operator" && options.by != "category") {
    return Status::error("--by " + options.by + ": memory can be shown by operator or by category");
  }
  const Result<SliceFilter> filter = SliceFilter::make(trace, options);
  if (!filter) return filter.status();
  const OperatorRules rules(trace);
  Table table = options.by == "category"   ? make_memory_by_category(trace, *filter)
                : options.by == "operator" ? make_by_operator(trace, rules, *filter)
                                           : make_curve(trace, rules, *filter);
  if (trace.allocations().time_ns.empty()) {
    table.notes.push_back("no allocations in this trace (torch: profile_memory=True)");
  }
  return table;
}

}  // namespace stepscope
