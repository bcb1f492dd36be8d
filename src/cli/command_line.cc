#include "cli/command_line.h"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/help_formatter.h"
#include "export/output_file.h"

namespace stepscope::cli {
namespace {

constexpr const char* kCommandLineDescription =
    R"(Finds out where the time and memory of machine-learning code go.

Examples:
  stepscope run train.py                                where a Python program's time goes
  stepscope top 4321                                    a running Python program; also dump, record
  stepscope report trace.json                           the trace at a glance
  stepscope query trace.json "SELECT name, count(*), sum(dur_ns) FROM slices GROUP BY name"
                                                        anything else, in SQL
  stepscope ranks traces/                               all ranks of a job: who is slow, and why
  stepscope view trace.json                             look at it in the browser
  stepscope convert trace.json trace.sscope             smaller, and opens at once
  stepscope doctor                                      what works on this machine)";

constexpr const char* kCommandLineFooter =
    R"(A trace is a file of torch.profiler, Chrome, Perfetto's JSON, viztracer or MegEngine, or Stepscope's
own .sscope; .gz and .zst are opened as they are, and "-" is standard input.
More about a command and its examples: stepscope COMMAND --help)";

// How many letters must be changed, put in or left out to make one of the other.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  size_t best = std::max<size_t>(2, word.size() / 3) + 1;
  std::string suggestion;
  for (const std::string& candidate : known) {
    const size_t distance = edit_distance(word, candidate);
    if (distance >= best) continue;
    best = distance;
    suggestion = candidate;
  }
  return suggestion.empty() ? "" : "; did you mean '" + suggestion + "'?";
}

std::string describe_extra(const CLI::App& app, const CLI::App& command, const std::string& extra) {
  std::vector<std::string> known;
  if (extra.starts_with('-')) {
    for (const CLI::Option* option : command.get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
    const std::string name = extra.substr(0, extra.find('='));
    return "unknown option '" + name + "'" + did_you_mean(name, known);
  }
  if (&command != &app) return "one argument too many: '" + extra + "'";
  for (const CLI::App* subcommand : app.get_subcommands(nullptr)) {
    known.push_back(subcommand->get_name());
  }
  return "unknown command '" + extra + "'" + did_you_mean(extra, known);
}

const CLI::App& find_called(const CLI::App& app) {
  const auto called = app.get_subcommands();
  return called.empty() ? app : *called.front();
}

// A prefix command takes the first word that it does not know as the begin of what it is to run. Of
// the options only -m and -c are that; another one is a mistake.
std::vector<std::string> find_own_extras(const CLI::App& command) {
  const auto words = command.remaining();
  if (words.empty() || !words[0].starts_with('-') || words[0] == "-m" || words[0] == "-c" ||
      words[0] == "--") {
    return {};
  }
  return {words[0]};
}

int print_help(const std::string& text) {
  auto out = OutputFile::create("-");
  if (!out) return print_fault(out.status());
  (*out)->append(text);
  const Status status = (*out)->finish();
  return status ? kExitFine : print_fault(status);
}

// A closed standard stream would give its number to the next file that is opened, and what is
// printed would go there. Opened the wrong way round, so that reading or writing it is still an
// error.
void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1) continue;
    const int mode = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", mode) != stream) return;
  }
}

}  // namespace

int print_fault(const Status& status) {
  print_remark(status.message());
  return kExitFault;
}

int print_usage_error(const std::string& command, const std::string& message) {
  const std::string prefix = command.empty() ? "" : command + ": ";
  const std::string called = command.empty() ? "stepscope" : "stepscope " + command;
  print_remark(prefix + message + " (see: " + called + " --help)");
  return kExitUsage;
}

void print_remark(const std::string& message) {
  std::string line = "stepscope: " + message;
  // One line, whatever is in the name of a file.
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

int run_command_line(int argc, char** argv) {
  hold_standard_streams();
  std::signal(SIGPIPE, SIG_DFL);  // quiet in `stepscope … | head`, also where a parent ignores it

  CLI::App app(kCommandLineDescription, "stepscope");
  app.footer(kCommandLineFooter);
  app.set_version_flag("--version", "stepscope " STEPSCOPE_VERSION, "Print the version");
  app.set_help_flag("-h,--help", "Print this help");
  app.require_subcommand(0, 1);
  app.option_defaults()->always_capture_default(false);
  app.formatter(std::make_shared<HelpFormatter>());
  Action action;
  const std::string called_as = argc > 0 ? argv[0] : "stepscope";
  add_run(app, action, called_as);
  add_record(app, action, called_as);
  add_dump(app, action);
  add_top(app, action);
  add_report(app, action);
  add_ranks(app, action, called_as);
  add_view(app, action);
  add_export_html(app, action);
  add_query(app, action);
  add_convert(app, action);
  add_analyze(app, action);
  add_diff(app, action);
  add_verify(app, action);
  add_doctor(app, action, called_as);
  for (CLI::App* command : app.get_subcommands(nullptr)) command->allow_extras();
  app.allow_extras();

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return print_help(find_called(app).help("", CLI::AppFormatMode::Normal));
  } catch (const CLI::CallForVersion&) {
    return print_help("stepscope " STEPSCOPE_VERSION "\n");
  } catch (const CLI::ParseError& error) {
    const CLI::App& called = find_called(app);
    // A word that is no option of the command is the likelier reason for anything else that is
    // amiss.
    const auto extras = called.get_prefix_command() ? find_own_extras(called) : called.remaining();
    const std::string command = &called == &app ? "" : called.get_name();
    return print_usage_error(
        command, extras.empty() ? error.what() : describe_extra(app, called, extras.front()));
  }
  const CLI::App& called = find_called(app);
  const std::string command = &called == &app ? "" : called.get_name();
  // What follows a prefix command (run) is none of ours.
  const auto extras = called.get_prefix_command() ? find_own_extras(called) : app.remaining(true);
  if (!extras.empty()) {
    return print_usage_error(command, describe_extra(app, called, extras.front()));
  }
  if (!action) {
    std::fputs(app.help().c_str(), stderr);
    return kExitUsage;
  }
  return action();
}

}  // namespace stepscope::cli
