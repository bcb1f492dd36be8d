// The list of rules.
#include <array>

#include "advise/rules.h"

namespace stepscope {
namespace {

constexpr std::array<Rule, 8> kRules = {
    check_dataloader_in_process, check_dataloader_too_few_workers,
    check_dataset_slow_item,     check_dataloader_slow_collate,
    check_python_hotspot,        check_single_tensor_optimizer,
    check_grad_not_none,         check_duplicate_forward,
};

}  // namespace

std::span<const Rule> rules() { return kRules; }

Severity severity_of(double at_stake_fraction) {
  if (at_stake_fraction >= kCriticalAtStake) return Severity::kCritical;
  return at_stake_fraction >= kWarningAtStake ? Severity::kWarning : Severity::kInfo;
}

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kCritical:
      return "critical";
  }
  return "";
}

}  // namespace stepscope
