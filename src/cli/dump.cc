// stepscope dump: where running Python programs are at this moment.
#include "cli/dump.h"

#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/process_stat.h"
#include "cli/commands.h"
#include "cli/process_ids.h"
#include "cli/terminal.h"
#include "export/output_file.h"

namespace stepscope::cli {
namespace {

constexpr const char* kDumpCommand = "dump";

constexpr const char* kDumpDescription = R"(Show where running Python programs are at this moment.

Each thread with its stack, the innermost call first, what it waits for and who holds the GIL; the
tasks of asyncio. The program is not changed, and not stopped unless you ask for it.

Examples:
  stepscope dump 4711                       all threads of a process
  stepscope dump 4711 --locals              with the values of local variables
  stepscope dump 4711 --subprocesses        with its workers, and theirs
  stepscope dump 4711 4712 --json           for scripts)";

constexpr const char* kDumpFooter =
    R"(To look into a program of another user, or one that you did not start where the system asks for
that, run this as root or with CAP_SYS_PTRACE. What --json gives: docs/sampling.md.)";

struct DumpArguments {
  std::vector<std::string> pids;
  DumpOptions dump;
  bool with_subprocesses = false;
  bool is_json = false;
};

struct Dumped {
  std::vector<ProcessDump> processes;
  std::vector<DumpFault> faults;
};

bool is_named(const std::vector<pid_t>& named, pid_t pid) {
  return std::find(named.begin(), named.end(), pid) != named.end();
}

// Of the processes below one that was asked for, those that are no Python (a shell, a compiler) or
// over by now are no fault.
bool is_of_no_interest(pid_t pid, const Status& status) {
  const char state = read_process_stat(std::to_string(pid)).state;
  return state == 0 || state == 'Z' || state == 'X' ||
         status.message().ends_with("not a Python program");
}

Dumped dump_all(const std::vector<pid_t>& named, const DumpArguments& options) {
  Dumped dumped;
  for (const pid_t pid : options.with_subprocesses ? add_descendants(named) : named) {
    auto dump = dump_process(pid, options.dump);
    if (dump) {
      dumped.processes.push_back(*std::move(dump));
    } else if (is_named(named, pid) || !is_of_no_interest(pid, dump.status())) {
      dumped.faults.push_back({pid, dump.status().message()});
    }
  }
  return dumped;
}

std::string render_text(const Dumped& dumped, const DumpArguments& options) {
  const DumpStyle style{.columns = find_output_width(), .has_color = wants_color(STDOUT_FILENO)};
  std::string text;
  if (options.with_subprocesses && dumped.processes.size() > 1) {
    text += dump_tree_text(dumped.processes, style) + "\n";
  }
  for (const ProcessDump& process : dumped.processes) {
    if (&process != &dumped.processes.front()) text += "\n";
    text += dump_text(process, style);
  }
  return text;
}

int run(const DumpArguments& options) {
  const auto pids = parse_process_ids(options.pids);
  if (!pids) return print_usage_error(kDumpCommand, pids.status().message());
  const Dumped dumped = dump_all(*pids, options);
  auto out = OutputFile::create("-");
  if (!out) return print_fault(out.status());
  (*out)->append(options.is_json ? dump_json(dumped.processes, dumped.faults)
                                 : render_text(dumped, options));
  const Status written = (*out)->finish();
  if (!written) return print_fault(written);
  for (const DumpFault& fault : dumped.faults) print_remark(fault.message);
  return dumped.faults.empty() ? kExitFine : kExitFault;
}

}  // namespace

void add_dump(CLI::App& app, Action& action) {
  const auto options = std::make_shared<DumpArguments>();
  CLI::App* command =
      app.add_subcommand(kDumpCommand, "Show where running Python programs are now");
  command->description(kDumpDescription);
  command->add_option("PID", options->pids, "Processes to look into")->required()->type_name("");
  command->add_flag("--locals", options->dump.with_locals,
                    "Local variables of each frame, cut where they are long");
  command->add_flag("--native", options->dump.with_native,
                    "Frames of C and C++ too; the process is held for a moment");
  command->add_flag("--pause", options->dump.pause,
                    "Hold the process for the look: all threads at the same moment");
  command->add_flag("-s,--subprocesses", options->with_subprocesses,
                    "Also the processes that it has started, and theirs");
  command->add_flag("--json", options->is_json, "For scripts");
  command->footer(kDumpFooter);
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace stepscope::cli
