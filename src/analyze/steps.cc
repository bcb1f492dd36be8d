// The view `steps`: where the time of each training step goes. Every moment of a step counts once,
// for the first of these that was going on anywhere at that moment: kernel, memcpy, memset,
// communication, runtime, input, cpu_exec; other is the rest. How far a step reaches: step_spans.h.
//
// kernel_ns, memcpy_ns, memset_ns: on any device. communication_ns: NCCL's kernels, nccl: and gloo:
// scopes. runtime_ns: calls of the device's runtime. input_ns: waiting in the DataLoader,
// or for a tf.data pipeline. cpu_exec_ns: operators on any thread. Annotations by themselves are no
// work, so a step's Python shows as other.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "analyze/async_scopes.h"
#include "analyze/calls_of_samples.h"
#include "analyze/input_pipelines.h"
#include "analyze/intervals.h"
#include "analyze/operator_rules.h"
#include "analyze/slice_filter.h"
#include "analyze/step_spans.h"
#include "analyze/views.h"
#include "trace/torch_scopes.h"

namespace stepscope {
namespace {

enum Category : uint8_t {  // in order of precedence
  kKernelTime = 0,
  kMemcpyTime,
  kMemsetTime,
  kCommunicationTime,
  kRuntimeTime,
  kInputTime,
  kCpuExecTime,
  kOtherTime,
};
constexpr size_t kCategories = 8;
constexpr std::array<const char*, kCategories> kColumnNames = {
    "kernel_ns",  "memcpy_ns", "memset_ns",   "communication_ns",
    "runtime_ns", "input_ns",  "cpu_exec_ns", "other_ns",
};

Category find_category(const Trace& trace, const Label& label) {
  const std::string_view name = trace.string(label.name);
  switch (label.kind) {
    case SliceKind::kKernel:
      return is_communication_kernel(name) ? kCommunicationTime : kKernelTime;
    case SliceKind::kMemcpy:
      return kMemcpyTime;
    case SliceKind::kMemset:
      return kMemsetTime;
    case SliceKind::kRuntime:
      return kRuntimeTime;
    case SliceKind::kOperator:
    case SliceKind::kAnnotation:
      if (is_input_scope(name)) return kInputTime;
      if (is_communication_scope(name)) return kCommunicationTime;
      return label.kind == SliceKind::kOperator ? kCpuExecTime : kOtherTime;
    default:
      return kOtherTime;
  }
}

using CategoryTimes = std::array<IntervalSet, kCategories>;

CategoryTimes find_times(const Trace& trace) {
  std::vector<Category> categories;
  for (const Label& label : trace.labels().all()) categories.push_back(find_category(trace, label));
  CategoryTimes times;
  const SliceColumns& slices = trace.slices();
  for (uint32_t row = 0; row < slices.size(); ++row) {
    const Category category = categories[index(slices.label[row])];
    if (category == kOtherTime) continue;
    const SliceKind kind = trace.labels()[slices.label[row]].kind;
    const bool is_scope = category == kCommunicationTime && kind != SliceKind::kKernel;
    if (is_scope && goes_on_in_background(trace, row)) continue;
    times[category].add(slices.start_ns[row], slices.end_ns(row));
  }
  for (IntervalSet& time : times) time.normalize();
  times[kInputTime].unite(InputPipelines::of(trace)->find_waiting());
  return times;
}

using StepTimes = std::array<int64_t, kCategories>;

// By step. What a category has is what it adds to the time that those before it cover.
std::vector<StepTimes> divide_steps(const StepSpans& spans, const CategoryTimes& times) {
  std::vector<StepTimes> divided(spans.steps.size());
  std::vector<int64_t> counted_ns(spans.steps.size());
  IntervalSet covered;
  for (size_t category = 0; category < kCategories; ++category) {
    covered.unite(times[category]);
    const IntervalTotals totals(covered);
    for (size_t i = 0; i < divided.size(); ++i) {
      const Interval& span = spans.steps[i].span;
      const int64_t covered_ns =
          category == kOtherTime ? span.end_ns - span.begin_ns : totals.ns_in(span);
      divided[i][category] = covered_ns - counted_ns[i];
      counted_ns[i] = covered_ns;
    }
  }
  return divided;
}

}  // namespace

Result<Table> steps(const Trace& examined, const TableOptions& options) {
  const Trace& trace = trace_with_calls(examined);
  const Result<SliceFilter> filter = SliceFilter::make(examined, options);
  if (!filter) return filter.status();
  const std::shared_ptr<const StepSpans> spans = StepSpans::of(trace);
  const std::vector<StepTimes> times = divide_steps(*spans, find_times(trace));

  Table table("steps");
  Column& step_number = table.add("step", ColumnType::kInt);
  Column& start = table.add("start_ns", ColumnType::kInt, Unit::kNs);
  Column& dur = table.add("dur_ns", ColumnType::kInt, Unit::kNs);
  std::array<Column*, kCategories> columns{};
  for (size_t category = 0; category < kCategories; ++category) {
    columns[category] = &table.add(kColumnNames[category], ColumnType::kInt, Unit::kNs);
  }
  Column& scope = table.add("scope_ns", ColumnType::kInt, Unit::kNs);
  for (size_t i = 0; i < spans->steps.size(); ++i) {
    const Step& step = spans->steps[i];
    if (!filter->takes_time(step.span.begin_ns)) continue;
    step_number.push(step.number);
    start.push(step.span.begin_ns - examined.begin_ns());
    dur.push(step.span.end_ns - step.span.begin_ns);
    for (size_t category = 0; category < kCategories; ++category) {
      columns[category]->push(times[i][category]);
    }
    scope.push(step.scope.end_ns - step.scope.begin_ns);
  }
  table.notes = spans->notes();
  if (is_made_of_samples(trace)) {
    table.notes.emplace_back(
        "operators were not recorded: cpu_exec_ns is native code, estimated from samples");
  }
  return table;
}

}  // namespace stepscope
