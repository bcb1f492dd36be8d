// full-precision-matmul: matrix products and convolutions run on a GPU with Tensor Cores, and none
// uses them.
#include <algorithm>
#include <array>
#include <string_view>

#include "advise/device_use.h"
#include "advise/device_what_if.h"
#include "advise/finding_text.h"
#include "advise/host_time.h"
#include "advise/rules.h"
#include "advise/step_replay.h"
#include "analyze/operator_rules.h"

namespace stepscope {
namespace full_precision_matmul {

constexpr double kLeastEligible = 0.05;  // of the kernels' time
constexpr double kUnused = 0.01;         // Tensor Cores: less of the eligible time is none
constexpr float kLeft = 0.5;             // of a kernel, on Tensor Cores

// Kernels that compute in fewer bits or on Tensor Cores, beyond those that TensorBoard's list has.
bool is_fast(std::string_view kernel) {
  constexpr std::array<std::string_view, 12> kParts = {"tensorop", "wmma",  "bf16",  "f16",
                                                       "half",     "fp8",   "flash", "fmha",
                                                       "hgemm",    "nvjet", "sm90_", "sm100_"};
  return uses_tensor_cores(kernel) ||
         std::any_of(kParts.begin(), kParts.end(),
                     [&](std::string_view part) { return kernel.find(part) != kernel.npos; });
}

bool is_eligible(const Case& c, const OperatorRules& rules, LabelId label) {
  // Newer than the list.
  return rules.is_tensor_core_eligible(label) ||
         c.trace.string(c.trace.labels()[label].name) == "aten::convolution_backward";
}

// 7 for a V100; 0 where the trace does not say, and for what is not NVIDIA's.
int64_t find_compute_capability(const Case& c, int32_t device) {
  for (const Label& label : c.trace.labels().all()) {
    if (label.kind == SliceKind::kRuntime && c.trace.string(label.name).starts_with("hip"))
      return 0;
  }
  for (const Device& known : c.trace.devices()) {
    if (known.id == device) return known.compute_major;
  }
  return 0;
}

struct KernelTimes {
  int64_t all_ns = 0;
  int64_t eligible_ns = 0;
  int64_t fast_ns = 0;
  SliceId longest = kNoSlice;       // eligible one
  SliceId longest_call = kNoSlice;  // that launched it
  int64_t longest_ns = -1;
};

KernelTimes find_kernel_times(const Case& c, const StepReplay& replay, const OperatorRules& rules) {
  const SliceColumns& slices = c.trace.slices();
  const LabelTable& labels = c.trace.labels();
  std::vector<bool> is_label_eligible, is_label_fast, is_operator;
  for (uint32_t i = 0; i < labels.size(); ++i) {
    const LabelId label{i};
    is_label_eligible.push_back(is_eligible(c, rules, label));
    is_label_fast.push_back(labels[label].kind == SliceKind::kKernel &&
                            is_fast(c.trace.string(labels[label].name)));
    is_operator.push_back(rules.role(label) == HostRole::kOperator);
  }
  KernelTimes times;
  for (const StepReplay::DeviceWork& work : replay.device_work()) {
    const LabelId label = slices.label[index(work.slice)];
    if (labels[label].kind != SliceKind::kKernel || work.call == kNoSlice) continue;
    bool is_by_operator = false;
    bool is_by_eligible = false;
    for (SliceId at = work.call; at != kNoSlice; at = slices.parent[index(at)]) {
      is_by_operator |= is_operator[index(slices.label[index(at)])];
      is_by_eligible |= is_label_eligible[index(slices.label[index(at)])];
    }
    if (!is_by_operator) continue;
    times.all_ns += work.dur_ns;
    if (!is_by_eligible) continue;
    times.eligible_ns += work.dur_ns;
    if (is_label_fast[index(label)]) times.fast_ns += work.dur_ns;
    if (work.dur_ns > times.longest_ns) {
      times.longest_ns = work.dur_ns;
      times.longest = work.slice;
      times.longest_call = work.call;
    }
  }
  return times;
}

}  // namespace full_precision_matmul

void check_full_precision_matmul(const Case& c, Findings& found) {
  using namespace full_precision_matmul;
  const auto devices = DeviceUse::of(c);
  if (!c.has_steps() || devices->empty()) return;
  const int64_t capability = find_compute_capability(c, devices->devices.front().device);
  if (capability < 7) return;
  const auto replay = StepReplay::of(c.trace);
  const OperatorRules rules(c.trace);
  const KernelTimes times = find_kernel_times(c, *replay, rules);
  if (times.all_ns == 0) return;
  const double eligible =
      static_cast<double>(times.eligible_ns) / static_cast<double>(times.all_ns);
  if (eligible < kLeastEligible ||
      static_cast<double>(times.fast_ns) > kUnused * static_cast<double>(times.eligible_ns)) {
    return;
  }
  // A device that waits for input gains nothing by being faster: what counts is the step after
  // that has been mended.
  WhatIf before(c.trace);
  const bool waits_for_input = c.share(devices->input_wait_ns) >= kWarningAtStake;
  if (waits_for_input) leave_out_input(c, before);
  WhatIf after = before;
  for (uint32_t i = 0; i < c.trace.labels().size(); ++i) {
    if (is_eligible(c, rules, LabelId{i})) after.launched[i] = kLeft;
  }
  const int64_t before_ns = replay->step_ns(before);
  const int64_t after_ns = replay->step_ns(after);

  Finding finding;
  finding.id = "full-precision-matmul";
  finding.at_stake_fraction = replay->saved(before_ns, after_ns);
  finding.title = in_percent(eligible) +
                  " of the kernels' time is matrix products and convolutions that use no Tensor "
                  "Cores; ";
  finding.title += finding.at_stake_fraction < kLeastAtStake
                       ? "the host is slower than the GPU here, which must be mended first"
                       : "with them the step falls " + times_less(before_ns, after_ns) +
                             (waits_for_input ? " once it does not wait for input" : "");
  if (const LabelId function = find_user_function(c, times.longest_call);
      function != LabelId{UINT32_MAX}) {
    finding.where = c.place(function);
  }
  const double kernel_share = static_cast<double>(times.all_ns) /
                              static_cast<double>(replay->steps()) /
                              static_cast<double>(replay->step_ns());
  finding.figures = {{"eligible kernel time", eligible, Unit::kFraction},
                     {"Tensor Core kernel time", 0, Unit::kFraction},
                     {"kernels in a step", kernel_share, Unit::kFraction},
                     {"step before", static_cast<double>(before_ns), Unit::kNs},
                     {"step with Tensor Cores", static_cast<double>(after_ns), Unit::kNs}};
  finding.slices = {times.longest};
  finding.fix =
      "Compute in mixed precision" +
      std::string(capability >= 8 ? ", or allow TF32: torch.set_float32_matmul_precision(\"high\")."
                                  : ": float16 where it is safe, float32 where not.");
  finding.code =
      capability >= 8
          ? "with torch.autocast(\"cuda\", dtype=torch.bfloat16):\n    loss = criterion(model(x), "
            "y)"
          : "scaler = torch.amp.GradScaler()\nwith torch.autocast(\"cuda\", dtype=torch.float16):\n"
            "    loss = criterion(model(x), y)\nscaler.scale(loss).backward()\n"
            "scaler.step(optimizer)\nscaler.update()";
  finding.is_note = true;  // worth a word though the host may be slower still
  found.push_back(std::move(finding));
}

}  // namespace stepscope
