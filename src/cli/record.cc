// stepscope record: what a program does that runs already, from the profiler server that it opened.
//
// TensorFlow and JAX speak to that server themselves; the user's interpreter, which has one of
// them, is asked to (python/stepscope/_profiler_client.py).
#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/child_process.h"
#include "cli/commands.h"
#include "cli/find_python.h"
#include "cli/quantity.h"
#include "cli/run_folder.h"
#include "cli/run_report.h"

namespace stepscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCommand = "record";

constexpr const char* kDescription = R"(Record a TensorFlow or JAX program that runs already.

The program has opened a profiler server, with jax.profiler.start_server(9999) or
tf.profiler.experimental.server.start(9999). It is asked for what it does in the next seconds.
TensorFlow, or xprof for JAX, must be installed here too.

Examples:
  stepscope record --profiler-server localhost:9999
  stepscope record --profiler-server worker1:9999 --duration 10s -o runs/a
  stepscope report runs/a --view input            more of it afterwards)";

struct Options {
  std::string server;
  std::string duration = "2s";
  std::string folder;
  std::string python;
  bool overwrite = false;
  bool python_calls = false;
  bool quiet = false;
};

bool is_address(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == text.npos || colon == 0) return false;
  const std::string_view port = text.substr(colon + 1);
  return !port.empty() && port.size() <= 5 &&
         std::all_of(port.begin(), port.end(), [](unsigned char c) { return std::isdigit(c); });
}

std::vector<std::string> copy_environment() {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  return environment;
}

// The name of a folder from that of a server.
std::string name_of(std::string server) {
  std::replace_if(
      server.begin(), server.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '-');
  return server;
}

int record(const Options& options, const std::string& command) {
  if (!is_address(options.server)) {
    return print_usage_error(kCommand, "--profiler-server '" + options.server +
                                           "': expected HOST:PORT, as in localhost:9999");
  }
  const Result<int64_t> duration_ns = parse_duration_ns(options.duration);
  if (!duration_ns) {
    return print_usage_error(kCommand, "--duration " + duration_ns.status().message());
  }
  const int64_t duration_ms = *duration_ns / 1'000'000;
  if (duration_ms <= 0) {
    return print_usage_error(kCommand, "--duration " + options.duration + ": 1ms at least");
  }
  const auto python = find_python(options.python, command);
  if (!python) return print_fault(python.status());
  const auto start_folder = find_start_folder();
  if (!start_folder) return print_fault(start_folder.status());
  const std::string folder =
      options.folder.empty() ? make_run_folder_name(name_of(options.server)) : options.folder;
  const bool is_new = !fs::exists(folder);
  if (Status status = prepare_run_folder(folder, options.overwrite); !status) {
    return print_fault(status);
  }
  const fs::path client = fs::path(*start_folder).parent_path() / "_profiler_client.py";
  const auto status =
      run_child({*python, client.string(), options.server, std::to_string(duration_ms),
                 options.python_calls ? "1" : "0", fs::absolute(folder).string()},
                copy_environment());
  const bool is_recorded = status && *status == 0;
  std::error_code ignored;
  if (!is_recorded && is_new) fs::remove(folder, ignored);  // only where nothing is in it
  if (!status) return print_fault(status.status());
  if (!is_recorded) return exit_as(*status);
  if (!options.quiet) print_run_report(folder);
  return kExitFine;
}

}  // namespace

void add_record(CLI::App& app, Action& action, const std::string& called_as) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand(kCommand, "Record a TensorFlow or JAX program that runs already");
  command->description(kDescription);
  command->add_option("--profiler-server", options->server, "Where the program's server listens")
      ->required()
      ->type_name("HOST:PORT");
  command->add_option("--duration", options->duration, "For how long (2s)")->type_name("TIME");
  command
      ->add_option("-o,--output", options->folder,
                   "The folder; if not given, a new one in outputs/profiler_results")
      ->type_name("DIR");
  command->add_flag("--overwrite", options->overwrite, "Remove the run that DIR holds");
  command->add_flag("--python-calls", options->python_calls,
                    "With the calls of Python functions, which slows the program down");
  command
      ->add_option("--python", options->python,
                   "An interpreter that has TensorFlow or xprof; if not given, the one beside this "
                   "command, else the active environment's")
      ->type_name("PATH");
  command->add_flag("-q,--quiet", options->quiet, "Print nothing of our own at the end");
  command->callback([options, called_as, &action] {
    action = [options, called_as] { return record(*options, called_as); };
  });
}

}  // namespace stepscope::cli
