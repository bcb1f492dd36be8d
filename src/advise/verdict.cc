#include "advise/verdict.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "advise/device_use.h"
#include "advise/finding_text.h"
#include "analyze/device_slices.h"
#include "analyze/input_pipelines.h"
#include "analyze/text_value.h"

namespace stepscope {
namespace {

constexpr size_t kTopFindings = 3;
constexpr double kOthersShare = 0.2;     // of the cores
constexpr double kToldRecording = 0.05;  // of a step's time

// The phases that take most, as shares: "input 62 %, backward 20 %, forward 15 %".
std::string phase_shares(const Case& c) {
  std::vector<std::pair<double, std::string_view>> shares;
  int64_t total_ns = 0;
  for (const int64_t ns : c.phases) total_ns += ns;
  for (size_t i = 0; i < kPhases; ++i) {
    const double share =
        total_ns == 0 ? 0 : static_cast<double>(c.phases[i]) / static_cast<double>(total_ns);
    if (share >= 0.01) shares.emplace_back(share, kPhaseNames[i]);
  }
  std::stable_sort(shares.begin(), shares.end(), std::greater<>());
  std::string text;
  for (const auto& [share, name] : shares) {
    text += (text.empty() ? "" : ", ") + std::string(name) + " " + in_percent(share);
  }
  return text;
}

// Of a device whose launches nobody recorded, as a TPU's: the host's thread says nothing of it.
bool has_device_without_launches(const Case& c) {
  return !DeviceUse::of(c)->empty() && DeviceSlices::of(c.trace)->launched() == 0;
}

std::string bound_of(const Case& c) {
  const auto share = [&](Phase phase) {
    return static_cast<double>(c.phase_ns(phase)) /
           static_cast<double>(std::max<int64_t>(1, c.recorded_ns));
  };
  if (share(Phase::kInput) >= 0.3) return "input";
  if (share(Phase::kCommunication) >= 0.3) return "communication";
  // A TensorFlow profile has no phases but its input.
  const bool knows_phases = InputPipelines::of(c.trace)->pipelines.empty();
  if (knows_phases && share(Phase::kHost) >= 0.3) return "the host's Python";
  if (knows_phases && share(Phase::kHost) + share(Phase::kIdle) >= 0.3) {
    return "what the trace does not show (waiting, or Python without its stacks)";
  }
  if (share(Phase::kCopy) < 0.5) return "computation";
  // A copy to the host waits for all that its stream has to do before.
  const auto device = DeviceUse::of(c);
  const bool only_waits = !device->empty() && 2 * device->copies_ns < c.phase_ns(Phase::kCopy);
  return only_waits ? "copies that wait for the device" : "copies";
}

std::string steps_line(const Case& c) {
  const auto& steady = c.steady;
  std::string line = "A step takes " + in_time(c.per_step(c.recorded_ns));
  // What findings say is of the time without it.
  if (static_cast<double>(c.recording_ns) > kToldRecording * static_cast<double>(c.recorded_ns)) {
    line += ", about " + in_time(c.per_step(c.total_ns)) + " without the recording";
  }
  line += " (" + text_of_count(static_cast<int64_t>(steady.steps.size())) + " steady one" +
          (steady.steps.size() == 1 ? "" : "s");
  if (steady.warm_up_steps > 0) {
    line += " after " + text_of_count(static_cast<int64_t>(steady.warm_up_steps)) + " to warm up";
  }
  line += ") and is bound by ";
  if (has_device_without_launches(c) && DeviceUse::of(c)->utilisation(c) >= 0.5) {
    return line + "computation: the device works for " +
           in_percent(DeviceUse::of(c)->utilisation(c)) + " of it.";
  }
  line += bound_of(c) + ": " + phase_shares(c) + ".";
  return line;
}

std::string start_up_line(const Case& c) {
  std::string line =
      "Apart from the steps: " + in_time(c.steady.start_up_ns) + " before the first one";
  if (c.steady.warm_up_ns > c.steady.mean_ns) {
    const uint64_t count = c.steady.warm_up_steps;
    line += ", " + in_time(c.steady.warm_up_ns) + " more for the first " +
            (count == 1 ? "" : std::to_string(count) + " ") + "than for others";
  }
  return line + ".";
}

// Other programs that took cores from this one: its times are then longer than they need be.
std::string others_line(const Case& c) {
  const double others = c.cpu.machine_cores - std::max(0.0, c.cpu.used_cores);
  if (c.cpu.machine_cores < 0 || c.cpu.used_cores < 0 || c.cpu.cores == 0) return "";
  if (others < kOthersShare * c.cpu.cores) return "";
  char cores[16];
  std::snprintf(cores, sizeof cores, "%.1f", others);
  return "Meanwhile other programs kept " + std::string(cores) + " of " +
         std::to_string(c.cpu.cores) + " cores busy: on a quiet machine the times are shorter.";
}

}  // namespace

Verdict make_verdict(const Case& c, const Findings& findings) {
  Verdict verdict;
  if (c.has_steps()) verdict.lines.push_back(steps_line(c));
  size_t shown = 0;
  for (const Finding& finding : findings) {
    if (shown == kTopFindings) break;
    if (finding.severity == Severity::kInfo) continue;
    ++shown;
    std::string line = std::to_string(shown) + ". " + finding.title;
    if (!finding.where.empty() && finding.title.find(finding.where) == finding.title.npos) {
      line += " (" + finding.where + ")";
    }
    verdict.lines.push_back(line + ". [" + finding.id + "]");
    verdict.lines.push_back("   " + finding.fix +
                            (finding.code.empty() || finding.code.find('\n') != finding.code.npos
                                 ? ""
                                 : " " + finding.code));
  }
  if (shown == 0) verdict.lines.emplace_back("Nothing stands out.");
  if (c.has_steps() && c.steady.start_up_ns > c.recorded_ns / 10) {
    verdict.lines.push_back(start_up_line(c));
  }
  if (std::string line = others_line(c); !line.empty()) verdict.lines.push_back(std::move(line));
  if (c.is_sampled() && c.has_steps()) {
    verdict.lines.emplace_back(
        "Told from samples: steps, input, backward and optimizer are exact, the rest are "
        "estimates; operators and memory were not looked at.");
  }
  return verdict;
}

}  // namespace stepscope
