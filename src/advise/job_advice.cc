#include "advise/job_advice.h"

#include <algorithm>

#include "advise/finding_text.h"
#include "advise/job_rules.h"
#include "advise/rules.h"

namespace stepscope {
namespace {

constexpr JobRule kJobRules[] = {
    check_straggler_rank,
    check_load_imbalance,
    check_job_communication_bound,
    check_job_poor_overlap,
};

}  // namespace

Advice advise_job(const Job& job) {
  Advice advice;
  for (const JobRule rule : kJobRules) rule(job, advice.findings);
  put_in_order(advice.findings);
  if (advice.findings.empty()) {
    advice.verdict.lines.emplace_back("Nothing stands out between the ranks.");
  }
  for (const Finding& finding : advice.findings) {
    advice.verdict.lines.push_back(finding.id + ": " + finding.title + ".");
  }
  return advice;
}

}  // namespace stepscope
