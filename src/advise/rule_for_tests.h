// For tests: what one rule finds in a trace.
//
//   const auto finding = find(check_gpu_idle, trace);
//   ASSERT_TRUE(finding);
#pragma once

#include <optional>
#include <string_view>

#include "advise/case.h"
#include "advise/rules.h"

namespace stepscope {

// The first of its findings.
inline std::optional<Finding> find(Rule rule, const Trace& trace) {
  const Case c(trace);
  Findings found;
  rule(c, found);
  if (found.empty()) return std::nullopt;
  return found.front();
}

// -1 where there is none of that name.
inline double figure(const Finding& finding, std::string_view name) {
  for (const Figure& figure : finding.figures) {
    if (figure.name == name) return figure.value;
  }
  return -1;
}

}  // namespace stepscope
