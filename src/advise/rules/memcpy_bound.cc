// memcpy-bound: copies between host and device take time in which the device does nothing else.
#include <algorithm>
#include <optional>
#include <string_view>

#include "advise/device_use.h"
#include "advise/device_what_if.h"
#include "advise/finding_text.h"
#include "advise/host_time.h"
#include "advise/rules.h"
#include "advise/step_replay.h"

namespace stepscope {
namespace memcpy_bound {

constexpr double kMostlyPageable = 0.5;

struct CopiedBytes {
  int64_t bytes = 0;
  int64_t ns = 0;  // of copies whose size is known
  int64_t pageable_ns = 0;
  int64_t all_ns = 0;
};

CopiedBytes find_copied(const Case& c, const StepReplay& replay) {
  const SliceColumns& slices = c.trace.slices();
  const ArgColumn* bytes = c.trace.find_args("bytes", ArgType::kInt);
  CopiedBytes copied;
  for (const StepReplay::DeviceWork& work : replay.device_work()) {
    const Label& label = c.trace.labels()[slices.label[index(work.slice)]];
    if (label.kind != SliceKind::kMemcpy) continue;
    copied.all_ns += work.dur_ns;
    if (c.trace.string(label.name).find("Pageable") != std::string_view::npos) {
      copied.pageable_ns += work.dur_ns;
    }
    const auto at = bytes != nullptr ? bytes->find(work.slice) : std::nullopt;
    if (!at || bytes->ints[*at] < 0 || bytes->ints[*at] > INT64_MAX / 2 - copied.bytes) continue;
    copied.bytes += bytes->ints[*at];
    copied.ns += work.dur_ns;
  }
  return copied;
}

}  // namespace memcpy_bound

void check_memcpy_bound(const Case& c, Findings& found) {
  using namespace memcpy_bound;
  const auto devices = DeviceUse::of(c);
  if (!c.has_steps() || devices->empty() || devices->longest_copy == kNoSlice) return;
  const double share = c.share(devices->copy_ns);
  if (share < kWarningAtStake) return;
  const auto replay = StepReplay::of(c.trace);
  WhatIf hidden(c.trace);
  speed_up_device(hidden, 0, [](const Label& label) { return label.kind == SliceKind::kMemcpy; });
  const int64_t hidden_ns = replay->step_ns(hidden);

  Finding finding;
  finding.id = "memcpy-bound";
  finding.at_stake_fraction = replay->saved(hidden);
  finding.title = in_percent(share) +
                  " of each step copies memory while the GPU computes nothing; behind its "
                  "computation the step would fall " +
                  times_less(replay->step_ns(), hidden_ns);
  for (const StepReplay::DeviceWork& work : replay->device_work()) {
    if (work.slice != devices->longest_copy || work.call == kNoSlice) continue;
    const LabelId function = find_user_function(c, work.call);
    if (function != LabelId{UINT32_MAX}) finding.where = c.place(function);
  }
  finding.figures = {
      {"copies alone per step", static_cast<double>(c.per_step(devices->copy_ns)), Unit::kNs},
      {"copies alone", share, Unit::kFraction},
      {"step", static_cast<double>(replay->step_ns()), Unit::kNs},
      {"step without", static_cast<double>(hidden_ns), Unit::kNs}};
  const CopiedBytes copied = find_copied(c, *replay);
  if (copied.ns > 0) {
    finding.figures.push_back(
        {"copied per step",
         static_cast<double>(copied.bytes) / static_cast<double>(replay->steps()), Unit::kBytes});
    finding.figures.push_back(
        {"bytes per second",
         static_cast<double>(copied.bytes) / static_cast<double>(copied.ns) * 1e9, Unit::kBytes});
  }
  const double pageable = static_cast<double>(copied.pageable_ns) /
                          static_cast<double>(std::max<int64_t>(1, copied.all_ns));
  finding.figures.push_back({"from or to pageable memory", pageable, Unit::kFraction});
  finding.slices = {devices->longest_copy};
  if (pageable >= kMostlyPageable) {
    finding.fix =
        "Let copies to the device start from pinned memory and not wait; keep on the device what "
        "is needed there again.";
    finding.code =
        "DataLoader(dataset, ..., pin_memory=True)\nx = x.to(\"cuda\", non_blocking=True)";
  } else {
    finding.fix =
        "The memory is pinned already, so let the copies run while the GPU computes: copy the next "
        "batch on a stream of its own, keep on the device what is needed there again, and copy "
        "less (bytes instead of floats, which the GPU makes of them).";
    finding.code =
        "with torch.cuda.stream(copies):\n    next_x = next_x.to(\"cuda\", non_blocking=True)\n"
        "torch.cuda.current_stream().wait_stream(copies)";
  }
  found.push_back(std::move(finding));
}

}  // namespace stepscope
