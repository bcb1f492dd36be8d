// low-occupancy: most of the kernels' time goes into kernels with fewer blocks than the GPU has
// multiprocessors, so that a part of it has nothing to do.
#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "advise/device_use.h"
#include "advise/device_what_if.h"
#include "advise/finding_text.h"
#include "advise/rules.h"
#include "advise/step_replay.h"

namespace stepscope {
namespace low_occupancy {

constexpr double kBusy = 0.5;        // less: it is the host that matters
constexpr double kLeastSaved = 0.2;  // of the step
constexpr double kFewBlocks = 0.5;   // per multiprocessor, in the mean of a kernel's calls
constexpr float kLeast = 0.25;       // of a kernel's time, however few blocks it has

// The mean over a label's calls, by duration. Below 0: unknown.
struct BlocksPerSm {
  double blocks_ns = 0;
  int64_t known_ns = 0;
  int64_t ns = 0;
  SliceId longest = kNoSlice;
  int64_t longest_ns = -1;
};

// Achieved occupancy as Kineto estimates it, of all kernels, by duration; nothing where it does
// not.
std::optional<double> find_occupancy(const Case& c, const StepReplay& replay) {
  constexpr std::string_view kKey = "est. achieved occupancy %";
  const ArgColumn* ints = c.trace.find_args(kKey, ArgType::kInt);
  const ArgColumn* doubles = c.trace.find_args(kKey, ArgType::kDouble);
  double percent_ns = 0;
  int64_t known_ns = 0;
  for (const StepReplay::DeviceWork& work : replay.device_work()) {
    if (const auto whole = ints != nullptr ? ints->find(work.slice) : std::nullopt) {
      percent_ns += static_cast<double>(ints->ints[*whole]) * static_cast<double>(work.dur_ns);
    } else if (const auto real = doubles != nullptr ? doubles->find(work.slice) : std::nullopt) {
      percent_ns += doubles->doubles[*real] * static_cast<double>(work.dur_ns);
    } else {
      continue;
    }
    known_ns += work.dur_ns;
  }
  if (known_ns == 0) return std::nullopt;
  return percent_ns / 100 / static_cast<double>(known_ns);
}

std::vector<BlocksPerSm> find_blocks(const Case& c, const StepReplay& replay) {
  const SliceColumns& slices = c.trace.slices();
  const ArgColumn* doubles = c.trace.find_args("blocks per SM", ArgType::kDouble);
  const ArgColumn* ints = c.trace.find_args("blocks per SM", ArgType::kInt);
  std::vector<BlocksPerSm> found(c.trace.labels().size());
  for (const StepReplay::DeviceWork& work : replay.device_work()) {
    const LabelId label = slices.label[index(work.slice)];
    if (c.trace.labels()[label].kind != SliceKind::kKernel) continue;
    BlocksPerSm& blocks = found[index(label)];
    blocks.ns += work.dur_ns;
    if (work.dur_ns > blocks.longest_ns) {
      blocks.longest_ns = work.dur_ns;
      blocks.longest = work.slice;
    }
    double value = 0;
    if (const auto real = doubles ? doubles->find(work.slice) : std::nullopt) {
      value = doubles->doubles[*real];
    } else if (const auto whole = ints ? ints->find(work.slice) : std::nullopt) {
      value = static_cast<double>(ints->ints[*whole]);
    } else {
      continue;
    }
    blocks.known_ns += work.dur_ns;
    blocks.blocks_ns += value * static_cast<double>(work.dur_ns);
  }
  return found;
}

}  // namespace low_occupancy

void check_low_occupancy(const Case& c, Findings& found) {
  using namespace low_occupancy;
  const auto devices = DeviceUse::of(c);
  if (!c.has_steps() || devices->empty() || devices->utilisation(c) < kBusy) return;
  const auto replay = StepReplay::of(c.trace);
  const std::vector<BlocksPerSm> blocks = find_blocks(c, *replay);
  WhatIf full(c.trace);
  int64_t all_ns = 0;
  int64_t few_ns = 0;
  const BlocksPerSm* main = nullptr;
  for (size_t i = 0; i < blocks.size(); ++i) {
    all_ns += blocks[i].ns;
    if (blocks[i].known_ns == 0) continue;
    const double mean = blocks[i].blocks_ns / static_cast<double>(blocks[i].known_ns);
    if (mean >= kFewBlocks) continue;
    full.device[i] = std::max(kLeast, static_cast<float>(mean));
    few_ns += blocks[i].ns;
    if (main == nullptr || blocks[i].ns > main->ns) main = &blocks[i];
  }
  if (main == nullptr || replay->saved(full) < kLeastSaved) return;
  const int64_t full_ns = replay->step_ns(full);
  const double share = static_cast<double>(few_ns) / static_cast<double>(all_ns);

  Finding finding;
  finding.id = "low-occupancy";
  finding.at_stake_fraction = replay->saved(full);
  finding.title = in_percent(share) +
                  " of the kernels' time is in kernels with less than one block for every second "
                  "multiprocessor; spread over the GPU the step would fall " +
                  times_less(replay->step_ns(), full_ns);
  finding.figures = {{"kernel time with few blocks", share, Unit::kFraction},
                     {"GPU utilisation", devices->utilisation(c), Unit::kFraction},
                     {"step", static_cast<double>(replay->step_ns()), Unit::kNs},
                     {"step without", static_cast<double>(full_ns), Unit::kNs}};
  if (const auto occupancy = find_occupancy(c, *replay)) {
    finding.figures.push_back({"achieved occupancy", *occupancy, Unit::kFraction});
  }
  finding.slices = {main->longest};
  finding.fix =
      "Give a kernel more to do at once: a larger batch, or one batched operator for many small "
      "ones.";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
