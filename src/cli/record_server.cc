// TensorFlow and JAX speak to their server themselves; the user's interpreter, which has one of
// them, is asked to (python/stepscope/_profiler_client.py).
#include "cli/record_server.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
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

constexpr const char* kRecordServerCommand = "record";
constexpr const char* kUsualDuration = "2s";

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

}  // namespace

int record_server(const RecordServerOptions& options, const std::string& called_as) {
  if (!is_address(options.server)) {
    return print_usage_error(
        kRecordServerCommand,
        "--profiler-server '" + options.server + "': expected HOST:PORT, as in localhost:9999");
  }
  const std::string duration = options.duration.empty() ? kUsualDuration : options.duration;
  const Result<int64_t> duration_ns = parse_duration_ns(duration);
  if (!duration_ns) {
    return print_usage_error(kRecordServerCommand, "--duration " + duration_ns.status().message());
  }
  const int64_t duration_ms = *duration_ns / 1'000'000;
  if (duration_ms <= 0) {
    return print_usage_error(kRecordServerCommand, "--duration " + duration + ": 1ms at least");
  }
  const auto python = find_python(options.python, called_as);
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

}  // namespace stepscope::cli
