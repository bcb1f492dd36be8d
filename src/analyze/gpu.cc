// The view `gpu`: what each device's time went into. From the begin of the first to the end of the
// last piece of work (span_ns) a device is busy or idle; within its busy time kinds of work
// overlap, so all times are unions, never sums. As HolisticTraceAnalysis has it:
//
// - compute_ns: with at least one computing kernel. non_compute_ns: busy with something else only.
// - communication_ns and memory_ns: with at least one of these; overlap_ns: of the communication,
//   what is hidden behind computation.
// - An idle stretch has the cause of the work that ends it: host_wait, where that was launched
//   after the stretch had begun; kernel_wait, where the stretch is shorter than 30 us, which is
//   what it takes a device to go on; else other (it waited for another stream, an event, a copy),
//   as where the launch was not recorded.
//
// --by stream gives the idle time of each stream, --by type and --by annotation the sums of
// durations of what ran (gpu_breakdown.cc).
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "analyze/device_slices.h"
#include "analyze/gpu_breakdown.h"
#include "analyze/idle_causes.h"
#include "analyze/intervals.h"
#include "analyze/slice_filter.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

struct GpuTimes {
  std::vector<DeviceSlice> work;  // by begin
  std::array<IntervalSet, kWorkTypes> by_type;
  IntervalSet busy;
};

double gpu_share(int64_t part_ns, int64_t whole_ns) {
  return whole_ns > 0 ? static_cast<double>(part_ns) / static_cast<double>(whole_ns) : 0.0;
}

int64_t shared_ns(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet both = a;
  both.intersect(b);
  return both.total_ns();
}

std::map<int32_t, GpuTimes> find_gpu_times(const Trace& trace, const DeviceSlices& work,
                                           const SliceFilter& filter) {
  std::map<int32_t, GpuTimes> devices;
  for (const DeviceStream& stream : work.streams()) {
    for (const DeviceSlice& slice : work.of_stream(stream)) {
      if (!is_taken(trace, filter, slice)) continue;
      GpuTimes& times = devices[stream.device];
      times.work.push_back(slice);
      times.by_type[static_cast<size_t>(slice.type)].add(slice.start_ns, slice.end_ns);
      times.busy.add(slice.start_ns, slice.end_ns);
    }
  }
  for (auto& [device, times] : devices) {
    std::stable_sort(
        times.work.begin(), times.work.end(),
        [](const DeviceSlice& a, const DeviceSlice& b) { return a.start_ns < b.start_ns; });
    for (IntervalSet& set : times.by_type) set.normalize();
    times.busy.normalize();
  }
  return devices;
}

Table make_devices(const Trace& trace, const DeviceSlices& work, const SliceFilter& filter) {
  Table table("gpu");
  Column& device_column = table.add("device", ColumnType::kInt);
  Column& name = table.add("name", ColumnType::kString);
  Column& span = table.add("span_ns", ColumnType::kInt, Unit::kNs);
  Column& busy = table.add("busy_ns", ColumnType::kInt, Unit::kNs);
  Column& idle = table.add("idle_ns", ColumnType::kInt, Unit::kNs);
  Column& compute = table.add("compute_ns", ColumnType::kInt, Unit::kNs);
  Column& non_compute = table.add("non_compute_ns", ColumnType::kInt, Unit::kNs);
  Column& communication = table.add("communication_ns", ColumnType::kInt, Unit::kNs);
  Column& memory = table.add("memory_ns", ColumnType::kInt, Unit::kNs);
  Column& overlap = table.add("overlap_ns", ColumnType::kInt, Unit::kNs);
  Column& idle_share = table.add("idle_fraction", ColumnType::kDouble, Unit::kFraction);
  Column& compute_share = table.add("compute_fraction", ColumnType::kDouble, Unit::kFraction);
  Column& other_share = table.add("non_compute_fraction", ColumnType::kDouble, Unit::kFraction);
  Column& overlap_share = table.add("overlap_fraction", ColumnType::kDouble, Unit::kFraction);
  Column& host_wait = table.add("host_wait_ns", ColumnType::kInt, Unit::kNs);
  Column& kernel_wait = table.add("kernel_wait_ns", ColumnType::kInt, Unit::kNs);
  Column& other_wait = table.add("other_wait_ns", ColumnType::kInt, Unit::kNs);
  for (const auto& [device, times] : find_gpu_times(trace, work, filter)) {
    push_device_number(device_column, device);
    push_device_name(name, trace, device);
    const auto& intervals = times.busy.intervals();
    const int64_t span_ns =
        intervals.empty() ? 0 : intervals.back().end_ns - intervals.front().begin_ns;
    const int64_t busy_ns = times.busy.total_ns();
    const auto of_type = [&](WorkType type) -> const IntervalSet& {
      return times.by_type[static_cast<size_t>(type)];
    };
    const int64_t compute_ns = of_type(WorkType::kCompute).total_ns();
    const int64_t communication_ns = of_type(WorkType::kCommunication).total_ns();
    const int64_t hidden_ns =
        shared_ns(of_type(WorkType::kCommunication), of_type(WorkType::kCompute));
    span.push(span_ns);
    busy.push(busy_ns);
    idle.push(span_ns - busy_ns);
    compute.push(compute_ns);
    non_compute.push(busy_ns - compute_ns);
    communication.push(communication_ns);
    memory.push(of_type(WorkType::kMemory).total_ns());
    overlap.push(hidden_ns);
    idle_share.push(gpu_share(span_ns - busy_ns, span_ns));
    compute_share.push(gpu_share(compute_ns, span_ns));
    other_share.push(gpu_share(busy_ns - compute_ns, span_ns));
    if (communication_ns > 0) {
      overlap_share.push(gpu_share(hidden_ns, communication_ns));
    } else {
      overlap_share.push_null();
    }
    const IdleCauses causes = find_idle_causes(trace, times.work);
    host_wait.push(causes.host_wait_ns);
    kernel_wait.push(causes.kernel_wait_ns);
    other_wait.push(causes.other_ns);
  }
  return table;
}

Table make_streams(const Trace& trace, const DeviceSlices& work, const SliceFilter& filter) {
  Table table("gpu");
  Column& device = table.add("device", ColumnType::kInt);
  Column& number = table.add("stream", ColumnType::kInt);
  Column& calls = table.add("calls", ColumnType::kInt, Unit::kCount);
  Column& span = table.add("span_ns", ColumnType::kInt, Unit::kNs);
  Column& busy = table.add("busy_ns", ColumnType::kInt, Unit::kNs);
  Column& idle = table.add("idle_ns", ColumnType::kInt, Unit::kNs);
  Column& host_wait = table.add("host_wait_ns", ColumnType::kInt, Unit::kNs);
  Column& kernel_wait = table.add("kernel_wait_ns", ColumnType::kInt, Unit::kNs);
  Column& other = table.add("other_wait_ns", ColumnType::kInt, Unit::kNs);
  Column& host_share = table.add("host_wait_fraction", ColumnType::kDouble, Unit::kFraction);
  Column& kernel_share = table.add("kernel_wait_fraction", ColumnType::kDouble, Unit::kFraction);
  Column& other_share = table.add("other_wait_fraction", ColumnType::kDouble, Unit::kFraction);
  for (const DeviceStream& stream : work.streams()) {
    std::vector<DeviceSlice> taken;
    for (const DeviceSlice& slice : work.of_stream(stream)) {
      if (is_taken(trace, filter, slice)) taken.push_back(slice);
    }
    if (taken.empty()) continue;
    const IdleCauses causes = find_idle_causes(trace, taken);
    push_device_number(device, stream.device);
    number.push(stream.stream);
    calls.push(static_cast<int64_t>(taken.size()));
    span.push(causes.span_ns);
    busy.push(causes.span_ns - causes.idle_ns());
    idle.push(causes.idle_ns());
    host_wait.push(causes.host_wait_ns);
    kernel_wait.push(causes.kernel_wait_ns);
    other.push(causes.other_ns);
    host_share.push(gpu_share(causes.host_wait_ns, causes.idle_ns()));
    kernel_share.push(gpu_share(causes.kernel_wait_ns, causes.idle_ns()));
    other_share.push(gpu_share(causes.other_ns, causes.idle_ns()));
  }
  return table;
}

}  // namespace

Result<Table> gpu(const Trace& trace, const TableOptions& options) {
  const Result<SliceFilter> filter = SliceFilter::make(trace, options);
  if (!filter) return filter.status();
  const auto work = DeviceSlices::of(trace);
  Table table("gpu");
  if (options.by.empty()) {
    table = make_devices(trace, *work, *filter);
  } else if (options.by == "stream") {
    table = make_streams(trace, *work, *filter);
  } else if (options.by == "type") {
    table = make_gpu_types(trace, *work, *filter);
  } else if (options.by == "annotation") {
    table = make_gpu_annotations(trace, *work, *filter);
  } else {
    return Status::error("--by " + options.by + ": gpu can be shown by stream, type or annotation");
  }
  add_device_notes(table, *work);
  return table;
}

}  // namespace stepscope
