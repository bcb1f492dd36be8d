#include "analyze/memory_by_category.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analyze/text_value.h"
#include "trace/memory_timeline.h"

namespace stepscope {
namespace {

// In the order of the columns: what stays first, what comes and goes after it.
constexpr std::array kOrder = {MemoryCategory::kParameter,      MemoryCategory::kGradient,
                               MemoryCategory::kOptimizerState, MemoryCategory::kActivation,
                               MemoryCategory::kInput,          MemoryCategory::kTemporary,
                               MemoryCategory::kAutogradDetail, MemoryCategory::kUnknown};
static_assert(kOrder.size() == kMemoryCategoryCount);

std::string column_name(MemoryCategory category) {
  std::string name(kMemoryCategoryNames[static_cast<size_t>(category)].many);
  std::replace(name.begin(), name.end(), ' ', '_');
  return name + "_bytes";
}

// "peak of cpu: 55.2 MiB at 1.2 s: 60.1% activations, 21.0% parameters"
std::string describe_peak(const std::string& device, const MemoryAtMoment& peak,
                          int64_t trace_begin_ns) {
  const int64_t total_bytes = peak.total_bytes();
  std::string text = "peak of " + device + ": " + text_of_bytes(total_bytes) + " at " +
                     text_of_ns(subtract_saturating(peak.time_ns, trace_begin_ns));
  std::vector<MemoryCategory> parts(kOrder.begin(), kOrder.end());
  const auto bytes_of = [&](MemoryCategory part) { return peak.bytes[static_cast<size_t>(part)]; };
  std::stable_sort(parts.begin(), parts.end(),
                   [&](MemoryCategory a, MemoryCategory b) { return bytes_of(a) > bytes_of(b); });
  const char* separator = ": ";
  for (const MemoryCategory part : parts) {
    if (bytes_of(part) <= 0) break;
    const double share = static_cast<double>(bytes_of(part)) / static_cast<double>(total_bytes);
    text += separator + text_of_fraction(share) + " " +
            std::string(kMemoryCategoryNames[static_cast<size_t>(part)].many);
    separator = ", ";
  }
  return text;
}

}  // namespace

Table make_memory_by_category(const Trace& trace, const SliceFilter& filter) {
  const std::shared_ptr<const MemoryTimeline> timeline = MemoryTimeline::of(trace);
  const AllocationColumns& allocations = trace.allocations();
  Table table("memory");
  Column& time = table.add("time_ns", ColumnType::kInt, Unit::kNs);
  Column& device = table.add("device", ColumnType::kString);
  std::array<Column*, kOrder.size()> parts{};
  for (size_t i = 0; i < kOrder.size(); ++i) {
    parts[i] = &table.add(column_name(kOrder[i]), ColumnType::kInt, Unit::kBytes);
  }
  Column& total = table.add("total_bytes", ColumnType::kInt, Unit::kBytes);

  std::vector<std::string> names;
  for (const AllocationDevice known : timeline->devices()) names.push_back(device_name(known));
  std::map<uint32_t, MemoryAtMoment> peaks;  // by device
  const auto is_on_track = [&](const Lifetime& life) {
    const uint32_t row = life.was_there_before() ? life.freed_row : life.taken_row;
    return row == kNoAllocation ? filter.takes_all() : filter.takes_track(allocations.track[row]);
  };
  timeline->walk(is_on_track, [&](const MemoryAtMoment& now) {
    if (!filter.takes_time(now.time_ns)) return;
    time.push(subtract_saturating(now.time_ns, trace.begin_ns()));
    device.push(names[now.device]);
    for (size_t i = 0; i < kOrder.size(); ++i) {
      parts[i]->push(now.bytes[static_cast<size_t>(kOrder[i])]);
    }
    total.push(now.total_bytes());
    MemoryAtMoment& peak = peaks[now.device];
    if (now.total_bytes() > peak.total_bytes()) peak = now;
  });

  constexpr size_t kMaxPeaks = 8;
  for (const auto& [id, peak] : peaks) {
    if (table.notes.size() == kMaxPeaks) break;
    if (peak.total_bytes() <= 0) continue;
    table.notes.push_back(describe_peak(names[id], peak, trace.begin_ns()));
  }
  if (table.rows() > 0 && !timeline->has_categories()) {
    table.notes.push_back(
        "no training phases in this trace (backward pass, Optimizer.step): all memory is unknown");
  }
  if (timeline->has(MemoryCategory::kGradient) && !timeline->has(MemoryCategory::kParameter)) {
    table.notes.push_back("no parameters: they were taken before the recording began");
  }
  if (const uint64_t unseen = timeline->unseen_frees(); unseen > 0) {
    table.notes.push_back(text_of_count(static_cast<int64_t>(unseen)) +
                          " releases are missing: an address was taken again");
  }
  return table;
}

}  // namespace stepscope
