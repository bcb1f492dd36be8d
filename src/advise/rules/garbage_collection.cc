// garbage-collection: Python looks for garbage in the step, over and over: the program asks it to,
// or makes very many objects.
#include "advise/finding_text.h"
#include "advise/host_time.h"
#include "advise/rules.h"

namespace stepscope {

void check_garbage_collection(const Case& c, Findings& found) {
  const HostTime time =
      find_host_time(c, [&](const Label& label) { return c.trace.string(label.category) == "gc"; });
  const double share = c.share(time.ns);
  if (share < kWarningAtStake) return;
  Finding finding;
  finding.id = "garbage-collection";
  finding.at_stake_fraction = share;
  finding.title = in_percent(share) + (c.has_steps() ? " of each step" : " of the time") +
                  " is garbage collection";
  if (time.has_function()) finding.where = c.place(time.function);
  finding.figures = {
      {"per step", static_cast<double>(c.per_step(time.ns)), Unit::kNs},
      {"collections per step", static_cast<double>(time.count) / static_cast<double>(c.steps()),
       Unit::kNone}};
  finding.slices = {time.longest};
  finding.fix =
      "Do not call gc.collect() in the step; freeze what lives long before the loop, or let "
      "collections be rarer.";
  finding.code =
      "gc.collect()\ngc.freeze()               # once, before the loop\n"
      "gc.set_threshold(100_000)";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
