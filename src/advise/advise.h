// What is wrong with a program: all rules, their findings brought together and put in order.
//
//   std::shared_ptr<const Advice> advice = Advice::of(trace);
//   for (const Finding& finding : advice->findings) …
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "advise/finding.h"
#include "advise/verdict.h"
#include "analyze/table.h"
#include "base/status.h"
#include "trace/trace.h"

namespace stepscope {

struct Advice {
  Findings findings;  // most at stake first
  Verdict verdict;

  // That of a trace, worked out once.
  static std::shared_ptr<const Advice> of(const Trace& trace);
};

// Drops what is not worth a word and what another one includes; sets severities; the most important
// first.
void put_in_order(Findings& findings);

// The view `findings`.
Result<Table> findings(const Trace& trace, const TableOptions& options);
Table make_findings_table(const Advice& advice);
// Its JSON: {"view", "findings": [{"id", "severity", "title", "where", "at_stake_fraction",
// "evidence", "fix", …}]}
std::string render_findings_json(const Advice& advice);

}  // namespace stepscope
