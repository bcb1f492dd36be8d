#include "advise/advise.h"

#include <algorithm>
#include <set>

#include "advise/case.h"
#include "advise/device_what_if.h"
#include "advise/hot_lines.h"
#include "advise/rules.h"
#include "analyze/calls_of_samples.h"
#include "analyze/text_value.h"

namespace stepscope {
namespace {

// Those that another one includes are it, seen from another side.
void merge(Findings& findings) {
  std::set<std::string> included;
  for (const Finding& finding : findings) {
    included.insert(finding.includes.begin(), finding.includes.end());
  }
  std::erase_if(findings, [&](const Finding& finding) { return included.contains(finding.id); });
}

// Some findings are about other things than time: their severity says how they compare.
bool is_more_important(const Finding& a, const Finding& b) {
  if (a.severity != b.severity) return a.severity > b.severity;
  return a.at_stake_fraction > b.at_stake_fraction;
}

// Of what rules saw only marks are in the trace that the user has.
void show_originals(const CallsOfSamples& calls, Findings& findings) {
  for (Finding& finding : findings) {
    for (SliceId& slice : finding.slices) slice = calls.find_original(slice);
    std::erase(finding.slices, kNoSlice);
  }
}

Advice advise(const Trace& trace) {
  const Case c(trace_with_calls(trace));
  Advice advice;
  if (c.is_sampled()) {
    for (const Rule rule : rules_of_samples()) rule(c, advice.findings);
    show_originals(*CallsOfSamples::of(trace), advice.findings);
  } else {
    for (const Rule rule : host_rules()) rule(c, advice.findings);
    limit_to_host(c, advice.findings);
    for (const Rule rule : rules()) rule(c, advice.findings);
  }
  put_in_order(advice.findings);
  tell_hot_lines(c, trace, advice.findings);
  advice.verdict = make_verdict(c, advice.findings);
  return advice;
}

}  // namespace

void put_in_order(Findings& findings) {
  std::erase_if(findings, [](const Finding& finding) {
    return finding.at_stake_fraction < kLeastAtStake && finding.severity == Severity::kInfo &&
           !finding.is_note;
  });
  for (Finding& finding : findings) {
    finding.severity = std::max(finding.severity, severity_of(finding.at_stake_fraction));
  }
  merge(findings);
  std::stable_sort(findings.begin(), findings.end(), is_more_important);
}

std::shared_ptr<const Advice> Advice::of(const Trace& trace) {
  return trace.derived().get<Advice>("advice", [&] { return advise(trace); });
}

}  // namespace stepscope
