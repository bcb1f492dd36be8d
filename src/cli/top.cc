// stepscope top: what running Python programs do at the moment, live.
#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/process_ids.h"
#include "cli/quantity.h"
#include "cli/stop_signals.h"
#include "cli/top_live.h"
#include "cli/top_session.h"
#include "cli/top_settings.h"
#include "cli/top_terminal.h"
#include "collect/native/native_stack.h"

namespace stepscope::cli {
namespace {

constexpr const char* kTopCommand = "top";

constexpr const char* kTopDescription = R"(Show live what running Python programs do.

The programs are not changed, and go on while they are looked at. On a terminal the display is drawn
anew each interval until q; elsewhere each interval prints a snapshot.

Examples:
  stepscope top 4711                     functions and threads, live; ? lists the keys
  stepscope top 4711 --subprocesses      with DataLoader workers, torchrun's ranks, ...
  stepscope top 4711 --once              what it does in the next second, as plain text
  stepscope top 4711 --interval 10s > top.txt
                                         a snapshot every ten seconds)";

constexpr const char* kTopFooter =
    "Another user's program, or one in a hardened container, needs sudo or CAP_SYS_PTRACE.";

constexpr int64_t kNowNs = 2'000'000'000;  // what a live display calls "now"
constexpr int64_t kShortestIntervalNs = 100'000'000;

struct TopArguments {
  std::vector<std::string> pids;
  int64_t hz = 100;
  std::string interval = "1s";
  std::string duration;
  std::string sort = "own";
  int64_t limit = 20;
  bool once = false;
  bool with_children = false;
  bool native = false;
  bool pause = false;
  bool only_with_gil = false;
  bool with_idle = false;
};

const std::map<std::string, TopSort>& sorts() {
  static const std::map<std::string, TopSort> kSorts = {
      {"own", TopSort::kOwnNow},
      {"total", TopSort::kTotalNow},
      {"own-since-start", TopSort::kOwnSinceStart},
      {"total-since-start", TopSort::kTotalSinceStart}};
  return kSorts;
}

struct Times {
  int64_t interval_ns = 0;
  int64_t duration_ns = 0;
};

Result<Times> parse_times(const TopArguments& options) {
  Times times;
  const Result<int64_t> interval_ns = parse_duration_ns(options.interval);
  if (!interval_ns) return Status::error("--interval " + interval_ns.status().message());
  if (*interval_ns < kShortestIntervalNs) {
    return Status::error("--interval " + options.interval + ": 100ms at least");
  }
  times.interval_ns = *interval_ns;
  if (options.duration.empty()) return times;
  const Result<int64_t> duration_ns = parse_duration_ns(options.duration);
  if (!duration_ns) return Status::error("--duration " + duration_ns.status().message());
  if (*duration_ns <= 0) return Status::error("--duration " + options.duration + ": 1ms at least");
  times.duration_ns = *duration_ns;
  return times;
}

TopSettings make_settings(const TopArguments& options) {
  TopSettings settings;
  settings.sort = sorts().at(options.sort);
  if (options.only_with_gil) settings.weight = TopWeight::kGil;
  if (options.with_idle) settings.weight = TopWeight::kWall;
  settings.max_functions = static_cast<size_t>(std::max<int64_t>(options.limit, 0));
  return settings;
}

void say_that_it_ended(const std::vector<pid_t>& pids) {
  if (pids.size() == 1) {
    print_remark("process " + std::to_string(pids[0]) + " has ended");
  } else {
    print_remark("all " + std::to_string(pids.size()) + " processes have ended");
  }
}

int top(const TopArguments& options) {
  const Result<std::vector<pid_t>> pids = parse_process_ids(options.pids);
  if (!pids) return print_usage_error(kTopCommand, pids.status().message());
  const Result<Times> times = parse_times(options);
  if (!times) return print_usage_error(kTopCommand, times.status().message());
  const bool is_live = can_draw() && !options.once;

  TopSessionOptions session_options;
  session_options.sampler.period_ns = 1'000'000'000 / options.hz;
  session_options.sampler.with_children = options.with_children;
  session_options.sampler.pause = options.pause;
  session_options.sampler.native = options.native;
  session_options.sampler.make_unwinder = sample::make_native_stacks;
  session_options.duration_ns = times->duration_ns;
  if (is_live) {
    session_options.spans_of_now =
        static_cast<size_t>(std::max<int64_t>(kNowNs / times->interval_ns, 1));
  }
  const StopSignals stop;
  TopSession session(session_options);
  std::vector<pid_t> sampled;
  const std::vector<Status> added = session.start(*pids);
  for (size_t i = 0; i < added.size(); ++i) {
    if (added[i]) {
      sampled.push_back((*pids)[i]);
    } else {
      print_fault(added[i]);
    }
  }
  if (sampled.empty()) return kExitFault;

  const TopSettings settings = make_settings(options);
  Status shown = is_live ? show_live(session, settings, times->interval_ns)
                         : print_snapshots(session, settings, times->interval_ns, options.once);
  const bool has_ended = session.has_ended();
  session.stop();
  session.refresh();
  // What was on the display is gone with it.
  if (is_live && has_ended && shown) shown = print_snapshot(session, settings);
  if (!shown) return print_fault(shown);
  const TopView& view = session.view();
  const bool all_ended = has_ended && !view.processes.empty() && view.processes.front().has_ended;
  if (all_ended) say_that_it_ended(sampled);
  return sampled.size() == pids->size() ? kExitFine : kExitFault;
}

}  // namespace

void add_top(CLI::App& app, Action& action) {
  const auto options = std::make_shared<TopArguments>();
  CLI::App* command = app.add_subcommand(kTopCommand, "Show live what running Python programs do");
  command->description(kTopDescription);
  command->add_option("PID", options->pids, "Python programs that run")->required()->type_name("");
  command->add_flag("--subprocesses", options->with_children,
                    "With the children of the programs, and theirs, as they come and go");
  command
      ->add_option("--interval", options->interval,
                   "Time between two refreshes or snapshots (1s); 100ms at least")
      ->type_name("TIME");
  command->add_flag("--once", options->once, "Print one snapshot and end");
  command
      ->add_option("--duration", options->duration,
                   "For how long (30s, 5m); until the programs' end if not given")
      ->type_name("TIME");
  command->add_option("--hz", options->hz, "Looks a second (100); at most 10000")
      ->check(CLI::Range(1, 10'000))
      ->type_name("N");
  command
      ->add_option("--sort", options->sort,
                   "own, total, own-since-start or total-since-start; own if not given")
      ->check([](const std::string& name) {
        if (sorts().contains(name)) return std::string();
        return "unknown order '" + name +
               "'; there are: own, total, own-since-start, total-since-start";
      })
      ->type_name("ORDER");
  command->add_option("--limit", options->limit, "Functions in a snapshot (20); 0 is all")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  CLI::Option* gil = command->add_flag(
      "--gil", options->only_with_gil,
      "Shares of the time in which a thread holds the global interpreter lock; key g");
  command
      ->add_flag("--idle", options->with_idle,
                 "Shares of all threads' time: waiting counts, too; key i")
      ->excludes(gil);
  command->add_flag("--native", options->native,
                    "With C and C++ functions; stops the programs for each look");
  command->add_flag("--pause", options->pause,
                    "Stop the programs for each look: no stack is ever left out or read in "
                    "passing");
  command->footer(kTopFooter);
  command->callback([options, &action] { action = [options] { return top(*options); }; });
}

}  // namespace stepscope::cli
