// stepscope export-html: the viewer's page and a run in one file, for people without the trace.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "cli/commands.h"
#include "cli/load_trace.h"
#include "cli/quantity.h"
#include "cli/terminal.h"
#include "ingest/trace_paths.h"
#include "serve/html_export.h"
#include "serve/runs.h"

namespace stepscope::cli {
namespace {

constexpr const char* kExportHtmlCommand = "export-html";
constexpr const char* kDefaultSize = "20MB";

constexpr const char* kExportHtmlDescription =
    R"(Write the page of `stepscope view` and what it shows into one HTML file: timeline, flame
graphs, tables, findings. Any browser opens it, without stepscope and without a network.

Examples:
  stepscope export-html outputs/profiler_results run.html
  stepscope export-html trace.json.gz run.html --max-size 5MB    for a mail
  stepscope export-html rank0.json rank1.json ranks.html         several runs)";

constexpr const char* kExportHtmlFooter =
    "What does not fit is left out, and named here and on the page: first details of single "
    "slices, then the timeline's finest levels, then rows of tables. SQL, comparing and what-if "
    "need `stepscope view`.";

struct ExportHtmlArguments {
  std::vector<std::string> paths;  // the last one is the output
  std::string max_size = kDefaultSize;
};

// A trace in the last place, where the output was forgotten, is not to be overwritten.
bool may_be_output(const std::string& path) {
  return path == "-" || path.ends_with(".html") || path.ends_with(".htm") ||
         path.starts_with("/dev/") || is_folder(path);
}

// Those that opened; says why others did not.
std::vector<serve::RunInfo> take_open(serve::Runs& runs) {
  std::vector<serve::RunInfo> open;
  for (serve::RunInfo& run : runs.info()) {
    if (run.error.empty()) {
      open.push_back(std::move(run));
    } else {
      print_remark(run.error);
    }
  }
  return open;
}

std::string describe_output(const std::string& path, size_t runs) {
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(path, error);
  const std::string size =
      error ? "" : fmt::format(", {:.1f} MB", static_cast<double>(bytes) / 1e6);
  return fmt::format("{}: {} {}{}\n", path, runs, runs == 1 ? "run" : "runs", size);
}

int run(const ExportHtmlArguments& options) {
  if (options.paths.size() < 2) {
    return print_usage_error(kExportHtmlCommand,
                             "needs a trace and an output: export-html PATH OUT.html");
  }
  const auto max_bytes = parse_bytes(options.max_size);
  if (!max_bytes)
    return print_usage_error(kExportHtmlCommand, "--max-size: " + max_bytes.status().message());
  const std::string& output = options.paths.back();
  if (!may_be_output(output)) {
    return print_usage_error(kExportHtmlCommand, "the last argument is the file to write: '" +
                                                     output + "' does not end in .html");
  }
  if (is_folder(output)) return print_fault(Status::error(output + ": is a directory"));
  const std::vector<std::string> inputs =
      bring_all_here({options.paths.begin(), options.paths.end() - 1});
  const auto runs = serve::Runs::open(inputs, load_trace);
  std::vector<serve::RunInfo> open = take_open(*runs);
  if (open.empty()) return kExitFault;
  const size_t count = open.size();
  ProgressBar bar(output);
  serve::HtmlExportOptions export_options;
  export_options.max_bytes = *max_bytes;
  export_options.progress = [&bar](double fraction) { bar.show(fraction); };
  const auto left_out = serve::export_html(std::move(open), output, export_options);
  bar.clear();
  if (!left_out) return print_fault(left_out.status());
  for (const std::string& what : *left_out) print_remark(output + ": left out " + what);
  if (output == "-") return kExitFine;
  const std::string line = describe_output(output, count);
  std::fwrite(line.data(), 1, line.size(), stdout);
  if (std::fflush(stdout) != 0) return print_fault(Status::error("standard output: write error"));
  return kExitFine;
}

}  // namespace

void add_export_html(CLI::App& app, Action& action) {
  const auto options = std::make_shared<ExportHtmlArguments>();
  CLI::App* command =
      app.add_subcommand(kExportHtmlCommand, "Write what `view` shows into one HTML file");
  command->description(kExportHtmlDescription);
  command
      ->add_option("PATH... OUT", options->paths,
                   "Trace files, runs or folders with traces, and the file to write")
      ->required()
      ->type_name("");
  command
      ->add_option("--max-size", options->max_size,
                   "The file is not larger than that: 500KB, 20MB, 1GB; 20MB if not given")
      ->type_name("SIZE");
  command->footer(kExportHtmlFooter);
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace stepscope::cli
