// Where in the function that a finding names its time goes, by line, as far as samples tell: added
// to the finding's figures, and to its title where that ends with the function.
#pragma once

#include "advise/case.h"
#include "advise/finding.h"

namespace stepscope {

// `sampled`: the trace that the samples are in; `c.trace` or the one that it was made of.
void tell_hot_lines(const Case& c, const Trace& sampled, Findings& findings);

}  // namespace stepscope
