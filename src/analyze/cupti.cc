// The view `cupti`: hardware counters of kernels, from ranges that Kineto measured with CUPTI
// (category cuda_profiler_range). A row per range, in order of time, with a column for each counter
// that the trace has, under the counter's own name.
//
// A range has no correlation id. Where there are as many ranges as calls of cudaLaunchKernel, the
// n-th range is the n-th launch's, as in HolisticTraceAnalysis: then operator is the innermost
// operator around that call, top_operator the outermost, stack all of them from the outermost in.
// flops are the additions, multiplications and, twice, multiply-adds that the counters of executed
// instructions (smsp__sass_thread_inst_executed_op_…) tell.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/device_slices.h"
#include "analyze/slice_filter.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

constexpr std::string_view kRangeCategory = "cuda_profiler_range";
constexpr size_t kMostCounters = 512;

// Floating-point operations of one count; 0 of what is no such instruction.
double flops_of_counter(std::string_view counter) {
  constexpr std::string_view kStart = "smsp__sass_thread_inst_executed_op_";
  constexpr std::string_view kEnd = "_pred_on.sum";
  constexpr std::array<std::string_view, 9> kOperations = {"ffma", "fmul", "fadd", "hfma", "hmul",
                                                           "hadd", "dfma", "dmul", "dadd"};
  if (!counter.starts_with(kStart) || !counter.ends_with(kEnd)) return 0;
  counter.remove_prefix(kStart.size());
  counter.remove_suffix(kEnd.size());
  if (std::find(kOperations.begin(), kOperations.end(), counter) == kOperations.end()) return 0;
  return counter.ends_with("fma") ? 2 : 1;
}

// The arguments of ranges that are numbers: an integer and a real column of one name are one.
struct Counter {
  std::string_view name;
  const ArgColumn* ints = nullptr;
  const ArgColumn* doubles = nullptr;
};

bool holds_any(const ArgColumn& column, const std::vector<uint32_t>& rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](uint32_t row) { return column.find(SliceId{row}).has_value(); });
}

std::vector<Counter> find_counters(const Trace& trace, const std::vector<uint32_t>& ranges) {
  std::vector<Counter> counters;
  for (const ArgColumn& column : trace.args()) {
    if (column.type != ArgType::kInt && column.type != ArgType::kDouble) continue;
    if (counters.size() == kMostCounters || !holds_any(column, ranges)) continue;
    const std::string_view name = trace.string(column.key);
    auto it = std::find_if(counters.begin(), counters.end(),
                           [&](const Counter& counter) { return counter.name == name; });
    if (it == counters.end()) it = counters.insert(counters.end(), Counter{.name = name});
    (column.type == ArgType::kInt ? it->ints : it->doubles) = &column;
  }
  std::sort(counters.begin(), counters.end(),
            [](const Counter& a, const Counter& b) { return a.name < b.name; });
  return counters;
}

std::vector<uint32_t> find_rows_in_time(const Trace& trace, const std::vector<uint8_t>& is_wanted) {
  const SliceColumns& slices = trace.slices();
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < slices.size(); ++row) {
    if (is_wanted[index(slices.label[row])] != 0) rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [&](uint32_t a, uint32_t b) { return slices.start_ns[a] < slices.start_ns[b]; });
  return rows;
}

}  // namespace

Result<Table> cupti(const Trace& trace, const TableOptions& options) {
  const Result<SliceFilter> filter = SliceFilter::make(trace, options);
  if (!filter) return filter.status();
  std::vector<uint8_t> is_range, is_launch;
  for (const Label& label : trace.labels().all()) {
    is_range.push_back(trace.string(label.category) == kRangeCategory);
    is_launch.push_back(label.kind == SliceKind::kRuntime &&
                        trace.string(label.name).starts_with("cudaLaunchKernel"));
  }
  const std::vector<uint32_t> ranges = find_rows_in_time(trace, is_range);
  const std::vector<uint32_t> launched = find_rows_in_time(trace, is_launch);
  const bool has_launches = ranges.size() == launched.size();
  const std::vector<Counter> counters = find_counters(trace, ranges);

  Table table("cupti");
  Column& name = table.add("name", ColumnType::kString);
  Column& start = table.add("start_ns", ColumnType::kInt, Unit::kNs);
  Column& dur = table.add("dur_ns", ColumnType::kInt, Unit::kNs);
  Column& operator_name = table.add("operator", ColumnType::kString);
  Column& top_operator = table.add("top_operator", ColumnType::kString);
  Column& stack = table.add("stack", ColumnType::kString);
  Column& flops = table.add("flops", ColumnType::kDouble, Unit::kCount);
  std::vector<Column*> columns;
  for (const Counter& counter : counters) {
    columns.push_back(&table.add(std::string(counter.name), counter.doubles != nullptr
                                                                ? ColumnType::kDouble
                                                                : ColumnType::kInt));
  }
  const SliceColumns& slices = trace.slices();
  for (size_t i = 0; i < ranges.size(); ++i) {
    const uint32_t row = ranges[i];
    if (!filter->takes_time(slices.start_ns[row])) continue;
    name.push(trace.slice_name(SliceId{row}));
    start.push(slices.start_ns[row] - trace.begin_ns());
    dur.push(slices.dur_ns[row]);
    std::vector<std::string_view> operators_around;
    if (has_launches) {
      for (SliceId at = slices.parent[launched[i]]; at != kNoSlice; at = slices.parent[index(at)]) {
        const Label& label = trace.labels()[slices.label[index(at)]];
        if (label.kind == SliceKind::kOperator)
          operators_around.push_back(trace.string(label.name));
      }
    }
    if (operators_around.empty()) {
      operator_name.push_null();
      top_operator.push_null();
      stack.push_null();
    } else {
      operator_name.push(operators_around.front());
      top_operator.push(operators_around.back());
      std::string text;
      for (auto it = operators_around.rbegin(); it != operators_around.rend(); ++it) {
        text += (text.empty() ? "" : " > ") + std::string(*it);
      }
      stack.push(text);
    }
    double sum = 0;
    bool has_flops = false;
    for (size_t j = 0; j < counters.size(); ++j) {
      const Counter& counter = counters[j];
      double value = 0;
      if (const auto real =
              counter.doubles != nullptr ? counter.doubles->find(SliceId{row}) : std::nullopt) {
        value = counter.doubles->doubles[*real];
        columns[j]->push(value);
      } else if (const auto whole =
                     counter.ints != nullptr ? counter.ints->find(SliceId{row}) : std::nullopt) {
        value = static_cast<double>(counter.ints->ints[*whole]);
        if (counter.doubles != nullptr) {
          columns[j]->push(value);
        } else {
          columns[j]->push(counter.ints->ints[*whole]);
        }
      } else {
        columns[j]->push_null();
        continue;
      }
      const double weight = flops_of_counter(counter.name);
      sum += weight * value;
      has_flops |= weight > 0;
    }
    if (has_flops) {
      flops.push(sum);
    } else {
      flops.push_null();
    }
  }
  if (ranges.empty()) {
    table.notes.push_back("the trace has no ranges of CUPTI's counters (cuda_profiler_range)");
  } else if (!has_launches) {
    table.notes.push_back("there are " + std::to_string(ranges.size()) + " ranges and " +
                          std::to_string(launched.size()) +
                          " launches: which operator a range belongs to is not known");
  }
  return table;
}

}  // namespace stepscope
