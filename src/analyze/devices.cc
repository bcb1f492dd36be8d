// The view `devices`: how busy each device was, and how well it was used. Over the steps of the
// trace (step_spans.h), from the first one's begin to the last one's end:
//
// - busy_fraction: time with at least one kernel running.
// - sm_efficiency: at each moment, blocks per SM of all kernels running, at most 1; the mean of it.
// - occupancy: mean of the kernels' estimated achieved occupancy, weighted by duration.
// - tensor_core_fraction: share of the kernel time in kernels that use Tensor Cores, of all kernels
//   that an operator launched; tensor_core_eligible_fraction: share launched by operators that
//   could.
//
// With --by time: busy share in up to 100 buckets over the recording, and SM efficiency at each
// change.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyze/intervals.h"
#include "analyze/launches.h"
#include "analyze/merge_runs.h"
#include "analyze/number_cursor.h"
#include "analyze/operator_rules.h"
#include "analyze/operator_walk.h"
#include "analyze/slice_filter.h"
#include "analyze/step_spans.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

struct WeightedInterval {
  Interval time;
  double value = 0;
};

struct DeviceUse {
  IntervalSet busy;
  std::vector<WeightedInterval> blocks_per_sm;
  double occupied_ns = 0;    // kernel time in the window, weighted by its occupancy (0..1)
  int64_t occupancy_ns = 0;  // kernel time in the window whose occupancy is known
  int64_t kernel_ns = 0;
  int64_t launched_kernel_ns = 0;  // by operators
  int64_t tensor_core_ns = 0;
  int64_t launched_tensor_core_ns = 0;
};

struct NoTable {
  OperatorWalkKey open(const SliceBlock&, size_t, LabelId) { return {}; }
  void close(const OperatorCall&) {}
};

std::shared_ptr<const OperatorLaunches> find_operator_launches(const Trace& trace,
                                                               const Launches& launches) {
  return trace.derived().get<OperatorLaunches>(OperatorLaunches::kDerivedName, [&] {
    const OperatorRules rules(trace);
    const SliceMemory no_memory;
    NoTable no_table;
    OperatorWalk walk(rules, launches, no_memory, no_table);
    TraceSliceStream stream(trace);
    SliceBlock block;
    while (*stream.next(block)) walk.add(block, trace.strings());
    walk.finish();
    return walk.launched();
  });
}

enum KernelClass : uint8_t { kNoKernel = 0, kKernel, kTensorCoreKernel };

std::vector<KernelClass> classify_labels(const Trace& trace) {
  std::vector<KernelClass> classes;
  for (const Label& label : trace.labels().all()) {
    classes.push_back(label.kind != SliceKind::kKernel              ? kNoKernel
                      : uses_tensor_cores(trace.string(label.name)) ? kTensorCoreKernel
                                                                    : kKernel);
  }
  return classes;
}

int64_t overlap_ns(const Interval& a, const Interval& b) {
  return std::max<int64_t>(0, std::min(a.end_ns, b.end_ns) - std::max(a.begin_ns, b.begin_ns));
}

std::map<int32_t, DeviceUse> find_use(const Trace& trace, const Launches& launches,
                                      const OperatorLaunches& launched, const Interval& window) {
  std::map<int32_t, DeviceUse> uses;
  const std::vector<KernelClass> classes = classify_labels(trace);
  TraceSliceStream stream(trace);
  SliceBlock block;
  while (*stream.next(block)) {
    const int32_t device = trace.tracks()[index(block.track)].device;
    ArgCursor correlations(block, trace.strings(), "correlation", ArgType::kInt);
    NumberCursor blocks_per_sm(block, trace.strings(), "blocks per SM");
    NumberCursor occupancy(block, trace.strings(), "est. achieved occupancy %");
    LaunchCursor by_correlation(launches, LaunchKey::kCorrelation);
    DeviceUse* found = nullptr;
    for (size_t i = 0; i < block.size(); ++i) {
      const KernelClass kernel_class = classes[index(block.label[i])];
      if (kernel_class == kNoKernel) continue;
      if (found == nullptr) found = &uses[device];
      DeviceUse& use = *found;
      const int64_t dur_ns = block.dur_ns(i);
      const Interval time{block.start_ns[i], block.start_ns[i] + dur_ns};
      use.busy.add(time.begin_ns, time.end_ns);
      const auto blocks = blocks_per_sm.find(block.row(i));
      if (blocks && *blocks > 0) use.blocks_per_sm.push_back({time, *blocks});
      const auto percent = occupancy.find(block.row(i));
      if (percent && *percent >= 0) {
        const int64_t ns = overlap_ns(time, window);
        use.occupied_ns += *percent / 100 * static_cast<double>(ns);
        use.occupancy_ns += ns;
      }

      const bool tensor_cores = kernel_class == kTensorCoreKernel;
      const auto id = correlations.find_int(block.row(i));
      const Launch* launch = id ? by_correlation.find(*id) : nullptr;
      use.kernel_ns += dur_ns;
      if (tensor_cores) use.tensor_core_ns += dur_ns;
      if (launch != nullptr && launched.is_by_operator[launches.index_of(*launch)] != 0) {
        use.launched_kernel_ns += dur_ns;
        if (tensor_cores) use.launched_tensor_core_ns += dur_ns;
      }
    }
  }
  for (auto& [device, use] : uses) use.busy.normalize();
  return uses;
}

// The sum of all values at each moment, at most 1, where it is above 0.
std::vector<WeightedInterval> sum_up_to_1(const std::vector<WeightedInterval>& intervals) {
  struct Change {
    int64_t time_ns;
    double value;
  };
  const auto is_earlier = [](const Change& a, const Change& b) { return a.time_ns < b.time_ns; };
  std::vector<Change> begins;
  std::vector<Change> ends;
  begins.reserve(intervals.size());
  ends.reserve(intervals.size());
  for (const WeightedInterval& interval : intervals) {
    begins.push_back({interval.time.begin_ns, interval.value});
    ends.push_back({interval.time.end_ns, interval.value});
  }
  merge_runs(begins, is_earlier);
  merge_runs(ends, is_earlier);
  std::vector<WeightedInterval> result;
  double sum = 0;
  int64_t last_ns = 0;
  for (size_t begun = 0, ended = 0; ended < ends.size();) {
    // Begins before ends at the same time.
    const bool is_begin = begun < begins.size() && begins[begun].time_ns <= ends[ended].time_ns;
    const Change& change = is_begin ? begins[begun++] : ends[ended++];
    if (change.time_ns > last_ns && sum > 0) {
      result.push_back({{last_ns, change.time_ns}, std::min(sum, 1.0)});
    }
    last_ns = change.time_ns;
    sum += is_begin ? change.value : -change.value;
    if (begun == ended) sum = 0;  // what rounding left over
  }
  return result;
}

double ratio(double part, int64_t whole_ns) {
  return whole_ns > 0 ? part / static_cast<double>(whole_ns) : 0.0;
}

std::optional<double> mean_occupancy(const DeviceUse& use) {
  if (use.occupancy_ns == 0) return std::nullopt;
  return ratio(use.occupied_ns, use.occupancy_ns);
}

std::optional<double> mean_sm_efficiency(const DeviceUse& use, const Interval& window) {
  double weighted_ns = 0;
  bool any = false;
  for (const WeightedInterval& part : sum_up_to_1(use.blocks_per_sm)) {
    const int64_t ns = overlap_ns(part.time, window);
    weighted_ns += part.value * static_cast<double>(ns);
    any |= ns > 0;
  }
  if (!any) return std::nullopt;
  return ratio(weighted_ns, window.end_ns - window.begin_ns);
}

void push_optional(Column& column, std::optional<double> value) {
  if (value) {
    column.push(*value);
  } else {
    column.push_null();
  }
}

void push_device(Column& column, int32_t device) {
  if (device >= 0) {
    column.push(int64_t{device});
  } else {
    column.push_null();
  }
}

Table make_summary(const Trace& trace, const std::map<int32_t, DeviceUse>& uses,
                   const OperatorLaunches& launched, const Interval& window) {
  Table table("devices");
  Column& id = table.add("device", ColumnType::kInt);
  Column& name = table.add("name", ColumnType::kString);
  Column& busy = table.add("busy_fraction", ColumnType::kDouble, Unit::kFraction);
  Column& sm_efficiency = table.add("sm_efficiency", ColumnType::kDouble, Unit::kFraction);
  Column& occupancy = table.add("occupancy", ColumnType::kDouble, Unit::kFraction);
  Column& tensor_cores = table.add("tensor_core_fraction", ColumnType::kDouble, Unit::kFraction);
  Column& tensor_eligible =
      table.add("tensor_core_eligible_fraction", ColumnType::kDouble, Unit::kFraction);
  Column& kernel = table.add("kernel_ns", ColumnType::kInt, Unit::kNs);
  Column& memory = table.add("memory_bytes", ColumnType::kInt, Unit::kBytes);
  Column& capability = table.add("compute_capability", ColumnType::kString);
  for (const auto& [number, use] : uses) {
    const int64_t wanted = number;
    const auto device =
        std::find_if(trace.devices().begin(), trace.devices().end(),
                     [&](const Device& candidate) { return candidate.id == wanted; });
    const bool known = device != trace.devices().end();
    push_device(id, number);
    if (known && device->name != kEmptyString) {
      name.push(trace.string(device->name));
    } else {
      name.push_null();
    }
    busy.push(
        ratio(static_cast<double>(use.busy.total_ns_in(window)), window.end_ns - window.begin_ns));
    push_optional(sm_efficiency, mean_sm_efficiency(use, window));
    push_optional(occupancy, mean_occupancy(use));
    tensor_cores.push(
        use.launched_kernel_ns > 0
            ? ratio(static_cast<double>(use.launched_tensor_core_ns), use.launched_kernel_ns)
            : ratio(static_cast<double>(use.tensor_core_ns), use.kernel_ns));
    if (launched.kernel_ns > 0) {
      tensor_eligible.push(
          ratio(static_cast<double>(launched.eligible_kernel_ns), launched.kernel_ns));
    } else {
      tensor_eligible.push_null();
    }
    kernel.push(use.kernel_ns);
    if (known && device->total_memory_bytes > 0) {
      memory.push(device->total_memory_bytes);
    } else {
      memory.push_null();
    }
    if (known && device->compute_major > 0) {
      capability.push(std::to_string(device->compute_major) + "." +
                      std::to_string(device->compute_minor));
    } else {
      capability.push_null();
    }
  }
  return table;
}

// The recording as a whole: Kineto's own span of it, where there is one.
Interval find_recording(const Trace& trace) {
  const SliceColumns& slices = trace.slices();
  for (uint32_t row = 0; row < slices.size(); ++row) {
    const Label& label = trace.labels()[slices.label[row]];
    if (label.kind == SliceKind::kSpan && trace.string(label.name) == "PyTorch Profiler (0)") {
      return {slices.start_ns[row], slices.end_ns(row)};
    }
  }
  return {trace.begin_ns(), trace.end_ns()};
}

// 1, 10, 100, … us, so that there are at most 100 buckets.
int64_t find_bucket_ns(int64_t recording_ns) {
  int64_t bucket_ns = 1000;
  while (recording_ns / 100 > bucket_ns ||
         (recording_ns / 100 == bucket_ns && recording_ns % 100)) {
    bucket_ns *= 10;
  }
  return bucket_ns;
}

Table make_timeline(const Trace& trace, const std::map<int32_t, DeviceUse>& uses) {
  Table table("devices");
  Column& id = table.add("device", ColumnType::kInt);
  Column& metric = table.add("metric", ColumnType::kString);
  Column& time = table.add("time_ns", ColumnType::kInt, Unit::kNs);
  Column& value = table.add("value", ColumnType::kDouble, Unit::kFraction);
  const Interval recording = find_recording(trace);
  const int64_t bucket_ns = find_bucket_ns(recording.end_ns - recording.begin_ns);
  const int64_t buckets = (recording.end_ns - recording.begin_ns) / bucket_ns;
  const auto push = [&](int32_t device, std::string_view what, int64_t time_ns, double figure) {
    push_device(id, device);
    metric.push(what);
    time.push(time_ns - trace.begin_ns());
    value.push(figure);
  };
  for (const auto& [device, use] : uses) {
    for (int64_t i = 0; i < buckets; ++i) {
      const int64_t begin_ns = recording.begin_ns + i * bucket_ns;
      // The last one takes what is left.
      const Interval bucket{begin_ns, i + 1 < buckets ? begin_ns + bucket_ns : recording.end_ns};
      push(device, "busy_fraction", begin_ns,
           ratio(static_cast<double>(use.busy.total_ns_in(bucket)),
                 bucket.end_ns - bucket.begin_ns));
    }
    push(device, "busy_fraction", recording.end_ns, 0.0);
    for (const WeightedInterval& part : sum_up_to_1(use.blocks_per_sm)) {
      push(device, "sm_efficiency", part.time.begin_ns, part.value);
      push(device, "sm_efficiency", part.time.end_ns, 0.0);
    }
  }
  return table;
}

}  // namespace

Result<Table> devices(const Trace& trace, const TableOptions& options) {
  if (!options.by.empty() && options.by != "time") {
    return Status::error("--by " + options.by + ": devices can be shown by time");
  }
  const auto launches = Launches::of(trace);
  const auto launched = find_operator_launches(trace, *launches);
  const auto spans = StepSpans::of(trace);
  Interval window = spans->steps.empty() ? find_recording(trace) : spans->window();
  const Result<SliceFilter> filter = SliceFilter::make(trace, options);
  if (!filter) return filter.status();
  if (options.range.begin_ns != 0 || options.range.end_ns != INT64_MAX) {
    const int64_t length_ns = trace.end_ns() - trace.begin_ns();
    window = {trace.begin_ns() + std::clamp<int64_t>(options.range.begin_ns, 0, length_ns),
              trace.begin_ns() + std::clamp<int64_t>(options.range.end_ns, 0, length_ns)};
  }
  const std::map<int32_t, DeviceUse> uses = find_use(trace, *launches, *launched, window);
  Table table = options.by == "time" ? make_timeline(trace, uses)
                                     : make_summary(trace, uses, *launched, window);
  if (uses.empty()) table.notes.push_back("no kernels of a device in this trace");
  return table;
}

}  // namespace stepscope
