// python-hotspot: one function of the program's own code, in Python, takes much of a step; or of a
// program without steps.
#include <algorithm>

#include "advise/finding_text.h"
#include "advise/rules.h"

namespace stepscope {
namespace python_hotspot {

constexpr double kOfStep = 0.1;
constexpr double kOfProgram = 0.3;  // something always takes most of a program
constexpr double kLeft = 0.05;

}  // namespace python_hotspot

void check_python_hotspot(const Case& c, Findings& found) {
  using namespace python_hotspot;
  if (!c.work) return;
  const double least = c.has_steps() ? kOfStep : kOfProgram;
  const FunctionWork* hottest = nullptr;
  for (const FunctionWork& function : c.work->functions(Part::kRest)) {
    if (hottest == nullptr || function.python_ns() > hottest->python_ns()) hottest = &function;
  }
  if (hottest == nullptr) return;
  double share = c.share(hottest->python_ns());
  // Calls tell where time went, not whether Python or a library's C code ran there. Without the
  // global lock it was no Python.
  if (c.cpu.lock_held >= 0) share = std::min(share, c.cpu.lock_held + c.cpu.lock_margin);
  if (share < least) return;

  Finding finding;
  finding.id = "python-hotspot";
  finding.at_stake_fraction = share * (1 - kLeft);
  finding.where = c.place(hottest->label);
  finding.title = in_percent(share) + (c.has_steps() ? " of each step" : " of the time") +
                  " is Python code in " + finding.where;
  finding.figures = {{c.has_steps() ? "per step" : "in all",
                      static_cast<double>(c.per_step(hottest->python_ns())), Unit::kNs},
                     {"share", share, Unit::kFraction}};
  if (!c.is_sampled()) {
    finding.figures.insert(
        finding.figures.begin() + 1,
        {"calls per step", static_cast<double>(hottest->calls) / static_cast<double>(c.steps()),
         Unit::kCount});
  }
  finding.slices = {hottest->longest};
  finding.fix =
      c.has_steps()
          ? "Move it out of the step, do it less often, or let tensor operations do it."
          : "Look at its lines first: a better algorithm, or a library that does it in C.";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
