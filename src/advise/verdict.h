// Verdict: what bounds the program, in a few plain sentences.
#pragma once

#include <string>
#include <vector>

#include "advise/case.h"
#include "advise/finding.h"

namespace stepscope {

struct Verdict {
  std::vector<std::string> lines;
};

Verdict make_verdict(const Case& c, const Findings& findings);

}  // namespace stepscope
