#include "analyze/gpu_breakdown.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace stepscope {
namespace {

struct WorkTypeTimes {
  uint64_t calls = 0;
  int64_t total_ns = 0;
  std::map<LabelId, int64_t> by_kernel;
};

// The innermost annotation that holds each piece of work: the device's own (gpu_user_annotation)
// where the trace has such, else the host's around the launch.
class AnnotationFinder {
 public:
  explicit AnnotationFinder(const Trace& trace) : trace_(trace) {
    for (const Label& label : trace.labels().all()) {
      has_device_annotations_ |= label.kind == SliceKind::kDeviceAnnotation;
    }
  }

  bool has_device_annotations() const { return has_device_annotations_; }

  // kEmptyString where there is none.
  StringId find(const DeviceSlice& slice) const {
    if (has_device_annotations_) return find_above(slice.row);
    return slice.call == kNoRow ? kEmptyString : find_above(slice.call);
  }

 private:
  StringId find_above(uint32_t row) const {
    const SliceColumns& slices = trace_.slices();
    for (SliceId at = slices.parent[row]; at != kNoSlice; at = slices.parent[index(at)]) {
      const Label& label = trace_.labels()[slices.label[index(at)]];
      const bool is_annotation =
          has_device_annotations_
              ? label.kind == SliceKind::kDeviceAnnotation
              : label.kind == SliceKind::kAnnotation || label.kind == SliceKind::kStep;
      if (is_annotation) return label.name;
    }
    return kEmptyString;
  }

  const Trace& trace_;
  bool has_device_annotations_ = false;
};

}  // namespace

bool is_taken(const Trace& trace, const SliceFilter& filter, const DeviceSlice& slice) {
  return filter.takes_all() || (filter.takes_time(slice.start_ns) &&
                                filter.takes_track(trace.find_track_of(SliceId{slice.row})));
}

void push_device_number(Column& column, int32_t device) {
  if (device >= 0) {
    column.push(int64_t{device});
  } else {
    column.push_null();
  }
}

void push_device_name(Column& column, const Trace& trace, int32_t device) {
  for (const Device& known : trace.devices()) {
    if (known.id != device || known.name == kEmptyString) continue;
    column.push(trace.string(known.name));
    return;
  }
  column.push_null();
}

void add_device_notes(Table& table, const DeviceSlices& work) {
  if (work.empty()) {
    table.notes.push_back("no work of a device in this trace");
  } else if (work.launched() == 0) {
    table.notes.push_back(
        "no launch of any device work is known: the trace has no calls of the device's runtime, or "
        "no correlation ids");
  } else if (const uint64_t missing = work.all().size() - work.launched(); missing > 0) {
    table.notes.push_back(std::to_string(missing) + " of " + std::to_string(work.all().size()) +
                          " pieces of device work have no launch in the trace");
  }
}

Table make_gpu_types(const Trace& trace, const DeviceSlices& work, const SliceFilter& filter) {
  std::map<std::pair<int32_t, WorkType>, WorkTypeTimes> types;
  std::map<int32_t, int64_t> device_ns;
  for (const DeviceStream& stream : work.streams()) {
    for (const DeviceSlice& slice : work.of_stream(stream)) {
      if (!is_taken(trace, filter, slice)) continue;
      const int64_t dur_ns = slice.end_ns - slice.start_ns;
      WorkTypeTimes& times = types[{stream.device, slice.type}];
      ++times.calls;
      times.total_ns += dur_ns;
      times.by_kernel[trace.slices().label[slice.row]] += dur_ns;
      device_ns[stream.device] += dur_ns;
    }
  }
  Table table("gpu");
  Column& device = table.add("device", ColumnType::kInt);
  Column& type = table.add("type", ColumnType::kString);
  Column& calls = table.add("calls", ColumnType::kInt, Unit::kCount);
  Column& total = table.add("total_ns", ColumnType::kInt, Unit::kNs);
  Column& mean = table.add("mean_ns", ColumnType::kInt, Unit::kNs);
  Column& share = table.add("fraction", ColumnType::kDouble, Unit::kFraction);
  Column& names = table.add("names", ColumnType::kInt, Unit::kCount);
  Column& longest = table.add("longest", ColumnType::kString);
  Column& longest_ns = table.add("longest_ns", ColumnType::kInt, Unit::kNs);
  for (const auto& [key, times] : types) {
    const auto top =
        std::max_element(times.by_kernel.begin(), times.by_kernel.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    const int64_t all_ns = device_ns[key.first];
    push_device_number(device, key.first);
    type.push(work_type_name(key.second));
    calls.push(static_cast<int64_t>(times.calls));
    total.push(times.total_ns);
    mean.push(times.total_ns / static_cast<int64_t>(times.calls));
    share.push(all_ns > 0 ? static_cast<double>(times.total_ns) / static_cast<double>(all_ns) : 0);
    names.push(static_cast<int64_t>(times.by_kernel.size()));
    longest.push(trace.string(trace.labels()[top->first].name));
    longest_ns.push(top->second);
  }
  table.default_sort = "-total_ns";
  return table;
}

Table make_gpu_annotations(const Trace& trace, const DeviceSlices& work,
                           const SliceFilter& filter) {
  struct Times {
    uint64_t calls = 0;
    int64_t total_ns = 0;
    int64_t by_type_ns[kWorkTypes] = {};
  };
  const AnnotationFinder annotations(trace);
  std::map<std::pair<StringId, int32_t>, Times> found;
  for (const DeviceStream& stream : work.streams()) {
    for (const DeviceSlice& slice : work.of_stream(stream)) {
      if (!is_taken(trace, filter, slice)) continue;
      const int64_t dur_ns = slice.end_ns - slice.start_ns;
      Times& times = found[{annotations.find(slice), stream.device}];
      ++times.calls;
      times.total_ns += dur_ns;
      times.by_type_ns[static_cast<size_t>(slice.type)] += dur_ns;
    }
  }
  Table table("gpu");
  Column& name = table.add("annotation", ColumnType::kString);
  Column& device = table.add("device", ColumnType::kInt);
  Column& calls = table.add("calls", ColumnType::kInt, Unit::kCount);
  Column& total = table.add("total_ns", ColumnType::kInt, Unit::kNs);
  Column& compute = table.add("compute_ns", ColumnType::kInt, Unit::kNs);
  Column& communication = table.add("communication_ns", ColumnType::kInt, Unit::kNs);
  Column& memory = table.add("memory_ns", ColumnType::kInt, Unit::kNs);
  for (const auto& [key, times] : found) {
    if (key.first == kEmptyString) {
      name.push_null();
    } else {
      name.push(trace.string(key.first));
    }
    push_device_number(device, key.second);
    calls.push(static_cast<int64_t>(times.calls));
    total.push(times.total_ns);
    compute.push(times.by_type_ns[static_cast<size_t>(WorkType::kCompute)]);
    communication.push(times.by_type_ns[static_cast<size_t>(WorkType::kCommunication)]);
    memory.push(times.by_type_ns[static_cast<size_t>(WorkType::kMemory)]);
  }
  table.default_sort = "-total_ns";
  if (!work.empty() && !annotations.has_device_annotations()) {
    table.notes.push_back(
        "the trace has no annotations of the device (gpu_user_annotation): work counts for the "
        "host's innermost annotation around its launch");
  }
  return table;
}

}  // namespace stepscope
