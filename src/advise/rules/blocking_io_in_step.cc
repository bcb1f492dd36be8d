// blocking-io-in-step: the training thread waits for a disk, a network or a clock in the step: a
// checkpoint that is written, or a function whose time is not spent on a core.
#include <algorithm>

#include "advise/finding_text.h"
#include "advise/host_time.h"
#include "advise/rules.h"

namespace stepscope {
namespace blocking_io_in_step {

constexpr double kOfStep = 0.1;
constexpr double kMostlyWaiting = 0.5;   // of the function's time
constexpr double kBusyDisk = 512 << 10;  // bytes per second

Finding make(const Case& c, int64_t ns, const std::string& where, SliceId slice) {
  Finding finding;
  finding.id = "blocking-io-in-step";
  finding.at_stake_fraction = c.share(ns);
  finding.where = where;
  finding.figures = {{"per step", static_cast<double>(c.per_step(ns)), Unit::kNs}};
  finding.slices = {slice};
  finding.includes.emplace_back("python-hotspot");
  return finding;
}

void check_checkpoints(const Case& c, Findings& found) {
  const HostTime time = find_host_time(
      c, [&](const Label& label) { return is_phase_mark(c.trace, label, "checkpoint"); });
  if (c.share(time.ns) < kWarningAtStake) return;
  Finding finding =
      make(c, time.ns, time.has_function() ? c.place(time.function) : "", time.longest);
  finding.title = in_percent(c.share(time.ns)) + " of the steps' time writes checkpoints";
  if (!c.is_sampled()) {
    finding.title +=
        " (" + std::to_string(time.count) + " in " + std::to_string(c.steps()) + " steps)";
  }
  finding.fix = "Save less often, or let a thread write a copy while the training goes on.";
  finding.code = "if step % 1000 == 0:\n    torch.save(model.state_dict(), path)";
  found.push_back(std::move(finding));
}

// Of a step, as far as it may be in the function. Samples tell that of each function; the system
// tells only of the whole step, in which the thread waits for workers as well.
double find_waiting(const Case& c, const FunctionWork& function) {
  // The system works for a disk.
  const double for_disk = c.cpu.disk_bytes_per_s > kBusyDisk ? c.cpu.system_cores : 0;
  if (c.is_sampled()) return c.share(function.waiting_ns) + for_disk;
  return c.cpu.waiting - (c.input.has_workers ? c.share(c.input.wait_ns) : 0) + for_disk;
}

void check_waits(const Case& c, Findings& found) {
  if (c.cpu.waiting < 0) return;
  const FunctionWork* longest = nullptr;
  for (const FunctionWork& function : c.work->functions(Part::kRest)) {
    if (longest == nullptr || function.python_ns() > longest->python_ns()) longest = &function;
  }
  if (longest == nullptr) return;
  const double share = c.share(longest->python_ns());
  const double waiting = find_waiting(c, *longest);
  if (share < kOfStep || waiting < kMostlyWaiting * share) return;
  // Waiting that may be in the making of batches.
  if (!c.input.has_workers && c.share(c.input.wait_ns) > share) return;
  Finding finding = make(c, longest->python_ns(), c.place(longest->label), longest->longest);
  finding.title = in_percent(share) + " of each step waits in " + finding.where +
                  ", with no core busy: for a disk, a network or a clock";
  finding.figures.push_back({"waiting", waiting, Unit::kFraction});
  finding.fix = "Let a thread do it while the training goes on, do it less often, or not at all.";
  finding.code =
      "writer = concurrent.futures.ThreadPoolExecutor(1)\n...\nwriter.submit(log, step, loss)";
  found.push_back(std::move(finding));
}

}  // namespace blocking_io_in_step

void check_blocking_io_in_step(const Case& c, Findings& found) {
  using namespace blocking_io_in_step;
  if (!c.has_steps() || !c.work) return;
  const size_t before = found.size();
  check_checkpoints(c, found);
  if (found.size() == before) check_waits(c, found);
}

}  // namespace stepscope
