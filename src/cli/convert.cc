// stepscope convert: a trace from one format into another.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "analyze/fault_summary.h"
#include "cli/commands.h"
#include "cli/load_trace.h"
#include "cli/merge_ranks.h"
#include "export/export.h"
#include "ingest/trace_paths.h"
#include "trace/sample_weights.h"

namespace stepscope::cli {
namespace {

constexpr const char* kConvertCommand = "convert";

constexpr const char* kConvertDescription =
    R"(Write a trace in another format. Between .sscope and the JSON formats nothing is lost or
rounded; the others hold the stacks of calls, and what they leave out is told.

Examples:
  stepscope convert trace.json trace.sscope            smaller, and opens at once
  stepscope convert trace.sscope trace.json.gz         for Perfetto, chrome://tracing
  stepscope convert trace.json run.pt.trace.json       in PyTorch's layout, for HTA
  stepscope convert runs/monday flame.svg              a flame graph, for any browser
  stepscope convert runs/monday monday.timeline.svg    a picture of the timeline
  stepscope convert runs/monday run.speedscope.json    for speedscope.app
  stepscope convert runs/monday callgrind.out.monday   for KCachegrind, callgrind_annotate
  stepscope convert runs/monday run.pb.gz              for go tool pprof
  stepscope convert run.sscope run.prof                for pstats, snakeviz, gprof2dot
  stepscope convert rank*.json.gz job.sscope           all ranks of a job, on one clock
  stepscope convert trace.json path.critical_path.json what the program waited for, drawn in
  stepscope convert trace.sscope - --to chrome | head  to standard output)";

struct ConvertArguments {
  std::vector<std::string> paths;  // the last one is the output
  std::string to;
  std::string weight;
  std::string within;
};

std::string format_names() {
  std::string names;
  for (const ExportFormat& format : export_formats()) {
    if (!names.empty()) names += ", ";
    names += format.name;
  }
  return names;
}

std::string describe_formats() {
  std::string text = "Formats, by the end of OUT's name or by --to:\n";
  for (const ExportFormat& format : export_formats()) {
    std::string names(format.suffix);
    if (const size_t space = names.find(' '); space != std::string::npos) {
      names.insert(space, ",");
    }
    if (format.can_compress) names += " *";
    text += fmt::format("  {:<11} {:<30} {}\n", format.name, names, format.summary);
  }
  return text + "  * also with .gz or .zst after it";
}

// What there is most of, for the last line.
std::string describe_events(const Trace& trace) {
  if (trace.slices().size() > 0) return fmt::format("{} slices", trace.slices().size());
  const size_t samples = trace.samples().time_ns.size();
  if (samples > 0) return fmt::format("{} samples", samples);
  const size_t edges = trace.call_edges().callee.size();
  return edges > 0 ? fmt::format("{} call edges", edges) : "0 slices";
}

std::string describe_size(uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  if (bytes < 1'000'000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
  if (bytes < 1'000'000'000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
  return fmt::format("{:.2f} GB", static_cast<double>(bytes) / 1e9);
}

Result<Trace> load_single(const std::string& path) {
  const auto file = find_trace(path);
  if (!file) return file.status();
  return load_trace(*file);
}

int run(const ConvertArguments& options) {
  if (options.paths.size() < 2) {
    return print_usage_error(kConvertCommand, "needs an input and an output: convert IN... OUT");
  }
  const std::string& output = options.paths.back();
  const ExportFormat* format =
      options.to.empty() ? find_export_format_of_path(output) : find_export_format(options.to);
  if (format == nullptr) {
    return print_usage_error(
        kConvertCommand,
        "the name '" + output + "' does not tell the format; add --to (" + format_names() + ")");
  }
  if (is_folder(output)) return print_fault(Status::error(output + ": is a directory"));
  const std::vector<std::string> inputs(options.paths.begin(), options.paths.end() - 1);
  int exit_code = kExitFine;
  const auto trace =
      has_several_ranks(inputs) ? merge_ranks(inputs, exit_code) : load_single(inputs.front());
  if (!trace) return print_fault(trace.status());
  const std::string input = inputs.size() == 1 ? inputs.front() : "the ranks";
  const std::string faults = fault_summary(trace->stats());
  if (!faults.empty()) print_remark(input + ": " + faults);
  if (const std::string missed = sampler_summary(trace->stats()); !missed.empty()) {
    print_remark(input + ": " + missed);
  }
  const auto left_out = format->write(
      *trace, output,
      {.sample_weight = *parse_sample_weight(options.weight), .within = options.within});
  if (!left_out) return print_fault(left_out.status());
  for (const std::string& what : *left_out) print_remark(output + ": left out " + what);
  if (output != "-") {
    std::error_code error;
    const uint64_t bytes = std::filesystem::file_size(output, error);
    const std::string size = error ? "" : ", " + describe_size(bytes);
    const std::string line = fmt::format("{}: {}{}\n", output, describe_events(*trace), size);
    std::fwrite(line.data(), 1, line.size(), stdout);
    if (std::fflush(stdout) != 0) {
      return print_fault(Status::error("standard output: write error"));
    }
  }
  return exit_code;
}

}  // namespace

void add_convert(CLI::App& app, Action& action) {
  const auto options = std::make_shared<ConvertArguments>();
  CLI::App* command = app.add_subcommand(kConvertCommand, "Write a trace in another format");
  command->description(kConvertDescription);
  command
      ->add_option("IN... OUT", options->paths,
                   "The trace, or those of all ranks of a job, and the file to write")
      ->required()
      ->type_name("");
  command->add_option("--to", options->to, "The format; by the end of OUT's name if not given")
      ->check([](const std::string& name) {
        if (find_export_format(name) != nullptr) return std::string();
        return "unknown format '" + name + "'; there are: " + format_names();
      })
      ->type_name("FORMAT");
  command
      ->add_option("--weight", options->weight,
                   "Which time of samples goes into stacks and functions: cpu (the default where "
                   "it is known) or wall, waiting too")
      ->check(CLI::IsMember({"cpu", "wall"}))
      ->type_name("WHICH");
  command
      ->add_option("--within", options->within,
                   "critical-path: of the scope with this in its name, its N-th with @N after it")
      ->type_name("SCOPE");
  command->footer(describe_formats());
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace stepscope::cli
