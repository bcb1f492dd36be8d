// memory-growth: after each steady step more memory is taken than after the one before: something
// keeps what a step made.
#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "advise/finding_text.h"
#include "advise/host_time.h"
#include "advise/rules.h"
#include "analyze/quantile.h"
#include "analyze/text_value.h"
#include "trace/allocation_lifetimes.h"

namespace stepscope {
namespace memory_growth {

constexpr size_t kFewestSteps = 6;
constexpr int64_t kCriticalBytesPerStep = (int64_t{4} << 30) / 10'000;  // 4 GiB in 10,000 steps
constexpr double kMostSteps = 0.8;                                      // of the steps must grow
constexpr int64_t kLeastPerStepBytes = 32 << 10;  // a list of losses is no leak
constexpr int64_t kLeastGrowthBytes = 512 << 10;  // over all steady steps
constexpr double kEven = 0.5;                     // the median step, of the mean one

using DeviceKey = std::pair<int16_t, int16_t>;  // type, number

// What is taken at the end of each step, from what was taken before the first event.
std::map<DeviceKey, std::vector<int64_t>> find_levels(const Case& c, uint32_t process) {
  const AllocationColumns& all = c.trace.allocations();
  std::map<DeviceKey, int64_t> now;
  std::map<DeviceKey, std::vector<int64_t>> levels;
  size_t row = 0;
  for (size_t step = 0; step < c.steady.steps.size(); ++step) {
    for (; row < all.time_ns.size() && all.time_ns[row] < c.steady.steps[step].span.end_ns; ++row) {
      if (c.trace.tracks()[index(all.track[row])].process != process) continue;
      int64_t& bytes = now[{all.device_type[row], all.device_id[row]}];
      if (__builtin_add_overflow(bytes, all.bytes[row], &bytes)) return {};
    }
    for (const auto& [device, bytes] : now) {
      levels[device].resize(step);
      levels[device].push_back(bytes);
    }
  }
  return levels;
}

// The mean growth of a step, where it is one.
std::optional<int64_t> find_growth(const std::vector<int64_t>& levels) {
  if (levels.size() < kFewestSteps) return std::nullopt;
  std::vector<int64_t> steps;
  for (size_t i = 1; i < levels.size(); ++i) steps.push_back(levels[i] - levels[i - 1]);
  const auto growing = std::count_if(steps.begin(), steps.end(), [](int64_t b) { return b > 0; });
  const int64_t growth = levels.back() - levels.front();
  const int64_t mean = growth / static_cast<int64_t>(steps.size());
  if (static_cast<double>(growing) < kMostSteps * static_cast<double>(steps.size())) {
    return std::nullopt;
  }
  if (growth < kLeastGrowthBytes || mean < kLeastPerStepBytes) return std::nullopt;
  if (static_cast<double>(quantile(steps, 0.5)) < kEven * static_cast<double>(mean))
    return std::nullopt;
  return mean;
}

// Who took most of what the steady steps left behind.
struct Keeper {
  LabelId function = LabelId{UINT32_MAX};
  int64_t bytes = 0;
  SliceId slice = kNoSlice;
  int64_t slice_bytes = 0;
};

Keeper find_keeper(const Case& c, const DeviceKey& device) {
  const AllocationColumns& all = c.trace.allocations();
  const AllocationLifetimes lives = AllocationLifetimes::build(c.trace);
  const int64_t begin_ns = c.steady.steps.front().span.begin_ns;
  const int64_t end_ns = c.steady.steps.back().span.end_ns;
  std::map<uint32_t, Keeper> keepers;  // by function
  for (const Lifetime& life : lives.lifetimes) {
    if (life.was_there_before() || life.begin_ns < begin_ns || life.begin_ns >= end_ns) continue;
    if (life.end_ns <= end_ns) continue;
    const DeviceKey key{all.device_type[life.taken_row], all.device_id[life.taken_row]};
    const SliceId slice = all.slice[life.taken_row];
    if (key != device || slice == kNoSlice) continue;
    const LabelId function = find_user_function(c, slice);
    Keeper& keeper = keepers[index(function)];
    keeper.function = function;
    keeper.bytes += life.bytes;
    if (life.bytes > keeper.slice_bytes) {
      keeper.slice_bytes = life.bytes;
      keeper.slice = slice;
    }
  }
  Keeper most;
  for (const auto& [function, keeper] : keepers) {
    if (keeper.bytes > most.bytes) most = keeper;
  }
  return most;
}

}  // namespace memory_growth

void check_memory_growth(const Case& c, Findings& found) {
  using namespace memory_growth;
  if (c.steady.steps.size() < kFewestSteps || c.trace.allocations().time_ns.empty()) return;
  if (!c.thread->track()) return;
  const uint32_t process = c.trace.tracks()[index(*c.thread->track())].process;
  for (const auto& [device, levels] : find_levels(c, process)) {
    const auto growth = find_growth(levels);
    if (!growth) continue;
    const Keeper keeper = find_keeper(c, device);

    Finding finding;
    finding.id = "memory-growth";
    // No time is lost, until no memory is left.
    finding.severity = *growth >= kCriticalBytesPerStep ? Severity::kCritical : Severity::kWarning;
    finding.title =
        "each step leaves " + text_of_bytes(*growth) + " more memory taken " +
        (device.first == 0 ? "on the CPU" : "on device " + std::to_string(device.second)) +
        " than the one before: " + text_of_bytes(*growth * 1000) + " in a thousand steps";
    if (keeper.function != LabelId{UINT32_MAX}) finding.where = c.place(keeper.function);
    finding.figures = {
        {"growth per step", static_cast<double>(*growth), Unit::kBytes},
        {"growth in all steps", static_cast<double>(levels.back() - levels.front()), Unit::kBytes},
        {"steps", static_cast<double>(levels.size()), Unit::kCount},
        {"taken there and kept", static_cast<double>(keeper.bytes), Unit::kBytes}};
    finding.slices = {keeper.slice};
    finding.fix =
        "Something keeps tensors of every step, often a list or a running sum of losses, which "
        "keeps the graph behind them too: keep numbers, or detached tensors.";
    finding.code = "total += loss.item()  # not: total += loss";
    found.push_back(std::move(finding));
  }
}

}  // namespace stepscope
