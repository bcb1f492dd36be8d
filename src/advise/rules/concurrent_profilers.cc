// concurrent-profilers: another profiler or debugger watched the program while it was recorded.
#include <string>

#include "advise/finding_text.h"
#include "advise/rules.h"
#include "format/pool_layout.h"

namespace stepscope {

void check_concurrent_profilers(const Case& c, Findings& found) {
  std::string names;
  for (const Label& label : c.trace.labels().all()) {
    if (c.trace.string(label.category) != format::kOtherProfilersCategory) continue;
    names += (names.empty() ? "" : ", ") + std::string(c.trace.string(label.name));
  }
  if (names.empty()) return;
  Finding finding;
  finding.id = "concurrent-profilers";
  finding.is_note = true;
  finding.title = names +
                  " watched the program as well: each slows it for the other, and times "
                  "contain both";
  finding.fix = "Record again with one profiler at a time.";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
