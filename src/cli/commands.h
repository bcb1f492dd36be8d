// The subcommands. Each function adds one to the command line and says there what shall be run once
// the arguments are known to be right. A new one is a file in this folder, a line here and one in
// command_line.cc.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"

namespace CLI {
class App;
}

namespace stepscope::cli {

inline constexpr int kExitFine = 0;
inline constexpr int kExitFault = 1;  // of the input or the system
inline constexpr int kExitUsage = 2;

// Set by the subcommand that was called; returns the exit code.
using Action = std::function<int()>;

// `called_as` is argv[0].
void add_run(CLI::App& app, Action& action, const std::string& called_as);
void add_record(CLI::App& app, Action& action, const std::string& called_as);
void add_dump(CLI::App& app, Action& action);
void add_top(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_ranks(CLI::App& app, Action& action, const std::string& called_as);
void add_view(CLI::App& app, Action& action);
void add_export_html(CLI::App& app, Action& action);
void add_query(CLI::App& app, Action& action);
void add_convert(CLI::App& app, Action& action);
void add_analyze(CLI::App& app, Action& action);
void add_diff(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action, const std::string& called_as);

// Print `stepscope: <message>` and give the exit code. print_usage_error adds where to find help.
int print_fault(const Status& status);
int print_usage_error(const std::string& command, const std::string& message);
// A remark about an input that could be used nevertheless: `stepscope: <path>: <what>`.
void print_remark(const std::string& message);

}  // namespace stepscope::cli
