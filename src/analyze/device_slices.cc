#include "analyze/device_slices.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>

#include "analyze/int_args.h"
#include "analyze/operator_rules.h"

namespace stepscope {
namespace {

using std::string_view;

bool starts_with_any(string_view name, std::initializer_list<string_view> starts) {
  return std::any_of(starts.begin(), starts.end(),
                     [&](string_view start) { return name.starts_with(start); });
}

int32_t find_device_number(std::optional<int64_t> number) {
  return number && *number >= 0 && *number <= INT32_MAX ? static_cast<int32_t>(*number) : -1;
}

}  // namespace

string_view work_type_name(WorkType type) {
  constexpr std::array<string_view, kWorkTypes> kNames = {"none", "compute", "communication",
                                                          "memory", "other"};
  return kNames[static_cast<size_t>(type)];
}

WorkType find_work_type(SliceKind kind, string_view name) {
  if (kind == SliceKind::kMemcpy || kind == SliceKind::kMemset) return WorkType::kMemory;
  if (kind != SliceKind::kKernel) return WorkType::kNone;
  // What a queue writes of its waiting.
  if (name == "event_wait" || name == "event_record") return WorkType::kNone;
  if (is_communication_kernel(name)) return WorkType::kCommunication;
  if (starts_with_any(name, {"Memcpy", "Memset", "hipMemcpy", "hipMemset", "dma"})) {
    return WorkType::kMemory;
  }
  if (starts_with_any(name, {"job_exe", "packet", "pe_exe", "cpum_exe_subgraph",
                             "collective_subgraph_execution", "runFunction"})) {
    return WorkType::kOther;
  }
  return WorkType::kCompute;
}

std::vector<WorkType> find_work_types(const LabelTable& labels, const StringPool& strings) {
  std::vector<WorkType> types;
  types.reserve(labels.size());
  for (const Label& label : labels.all()) {
    types.push_back(find_work_type(label.kind, strings.view(label.name)));
  }
  return types;
}

std::shared_ptr<const DeviceSlices> DeviceSlices::of(const Trace& trace) {
  return trace.derived().get<DeviceSlices>("device slices", [&] { return DeviceSlices(trace); });
}

void DeviceSlices::find_calls(const Trace& trace) {
  const ArgColumn* column = trace.find_args("correlation", ArgType::kInt);
  if (column == nullptr) return;
  const SliceColumns& slices = trace.slices();
  for (size_t i = 0; i < column->rows.size(); ++i) {
    const uint32_t row = index(column->rows[i]);
    const int64_t correlation = column->ints[i];
    if (correlation <= 0 || trace.labels()[slices.label[row]].kind != SliceKind::kRuntime) continue;
    calls_.push_back({correlation, row});
  }
  // The runtime's call holds the driver's of the same number.
  std::sort(calls_.begin(), calls_.end(), [&](const Call& a, const Call& b) {
    return std::tuple(a.correlation, slices.start_ns[a.row], a.row) <
           std::tuple(b.correlation, slices.start_ns[b.row], b.row);
  });
  calls_.erase(
      std::unique(calls_.begin(), calls_.end(),
                  [](const Call& a, const Call& b) { return a.correlation == b.correlation; }),
      calls_.end());
}

uint32_t DeviceSlices::find_call(int64_t correlation) const {
  const auto it =
      std::lower_bound(calls_.begin(), calls_.end(), correlation,
                       [](const Call& call, int64_t wanted) { return call.correlation < wanted; });
  return it != calls_.end() && it->correlation == correlation ? it->row : kNoRow;
}

DeviceSlices::DeviceSlices(const Trace& trace) {
  const std::vector<WorkType> types = find_work_types(trace.labels(), trace.strings());
  if (std::all_of(types.begin(), types.end(),
                  [](WorkType type) { return type == WorkType::kNone; })) {
    return;
  }
  find_calls(trace);
  const SliceColumns& slices = trace.slices();
  IntArgs correlations(trace, "correlation");
  IntArgs stream_numbers(trace, "stream");
  IntArgs device_numbers(trace, "device");
  using Key = std::tuple<int32_t, int64_t, uint32_t>;  // device, stream, process
  std::map<Key, std::vector<DeviceSlice>> by_stream;
  for (const Track& track : trace.tracks()) {
    std::vector<DeviceSlice>* found = nullptr;
    int64_t found_stream = 0;
    int32_t device = track.device;
    for (uint32_t i = 0; i < track.slice_count; ++i) {
      const uint32_t row = track.first_slice + i;
      const WorkType type = types[index(slices.label[row])];
      if (type == WorkType::kNone) continue;
      const int64_t stream = stream_numbers.find(row).value_or(track.stream);
      if (device < 0) device = find_device_number(device_numbers.find(row));
      if (found == nullptr || stream != found_stream) {
        found = &by_stream[{device, stream, track.process}];
        found_stream = stream;
      }
      const auto correlation = correlations.find(row);
      found->push_back({.start_ns = slices.start_ns[row],
                        .end_ns = slices.end_ns(row),
                        .row = row,
                        .call = correlation ? find_call(*correlation) : kNoRow,
                        .type = type});
      launched_ += found->back().call != kNoRow;
    }
  }
  for (auto& [key, work] : by_stream) {
    std::stable_sort(work.begin(), work.end(), [](const DeviceSlice& a, const DeviceSlice& b) {
      return a.start_ns < b.start_ns;
    });
    DeviceStream stream;
    std::tie(stream.device, stream.stream, stream.process) = key;
    stream.first = static_cast<uint32_t>(slices_.size());
    stream.count = static_cast<uint32_t>(work.size());
    streams_.push_back(stream);
    slices_.insert(slices_.end(), work.begin(), work.end());
  }
}

}  // namespace stepscope
