// stepscope report: the views of a trace.
#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "advise/advise.h"
#include "advise/all_views.h"
#include "advise/what_if_table.h"
#include "cli/commands.h"
#include "cli/job_views.h"
#include "cli/load_trace.h"
#include "cli/remote_path.h"
#include "cli/row_options.h"
#include "cli/table_output.h"
#include "cli/time_range.h"
#include "ingest/trace_paths.h"
#include "trace/file_slice_stream.h"
#include "trace/recording.h"

namespace stepscope::cli {
namespace {

constexpr const char* kReportCommand = "report";

constexpr const char* kReportDescription = R"(Print what a trace says: one table per view.

Examples:
  stepscope report trace.json                              the trace at a glance
  stepscope report trace.json --view operators --limit 50  more operators than the usual 20
  stepscope report trace.json --view operators --by shape --sort total_host_ns
  stepscope report trace.json --view kernels --filter 'gemm|conv' -f csv > kernels.csv
  stepscope report trace.json --view tree --track python --range 1.5s..2s
  stepscope report trace.json --view tree --heaviest       the way to where the time goes
  stepscope report logs                                    a log folder of TensorFlow or JAX
  stepscope report runs/monday --view findings --fail-on warning
  stepscope report runs/monday --what-if dataloader-in-process --what-if augment=2x
  stepscope report runs/monday --all --format md -o report.md
  ssh server cat trace.json.gz | stepscope report -)";

struct ReportArguments {
  std::vector<std::string> paths;
  std::vector<std::string> views;
  bool all = false;
  bool stream = false;
  std::string range;
  std::string fail_on;  // a severity
  std::vector<std::string> what_if;
  TableOptions table;
  TableOutputOptions output;
};

struct Input {
  std::string path;
  bool is_from_folder = false;
};

std::string describe_views() {
  std::string text = "Views:\n";
  for (const View& view : all_views()) {
    std::string line = "  " + std::string(view.name);
    line.resize(std::max<size_t>(line.size() + 1, 14), ' ');
    text += line + std::string(view.summary) + "\n";
  }
  text.pop_back();
  return text;
}

std::string check_view(const std::string& name) {
  if (find_any_view(name) != nullptr) return {};
  return unknown_view(name, all_views()).message();
}

// Prints the views of one trace. `exit_code` becomes what is worst so far; false: stop.
bool report_trace(const Trace& trace, const Input& input, const ReportArguments& options,
                  TableOutput& out, int& exit_code) {
  if (!options.what_if.empty()) {
    const auto table = what_if(trace, options.what_if);
    if (!table) {
      exit_code = print_fault(Status::error(input.path + ": " + table.status().message()));
      return false;
    }
    out.add(*table, input.path);
  }
  for (const std::string& view : options.views) {
    const auto table = make_any_view(trace, view, options.table);
    if (!table) {
      // The names were checked; what is left is a column to sort by that the view does not have.
      exit_code =
          print_usage_error(kReportCommand, "--view " + view + ": " + table.status().message());
      return false;
    }
    out.add(*table, input.path);
    if (!out.ok()) return false;
  }
  return true;
}

// Whether a gate that was asked for stays shut: a finding is that severe.
bool fails(const Trace& trace, const Input& input, const ReportArguments& options) {
  if (options.fail_on.empty()) return false;
  const auto advice = Advice::of(trace);
  for (const Finding& finding : advice->findings) {
    const bool is_severe = finding.severity == Severity::kCritical ||
                           options.fail_on == severity_name(finding.severity) ||
                           options.fail_on == severity_name(Severity::kInfo);
    if (!is_severe) continue;
    print_remark(input.path + ": --fail-on " + options.fail_on + ": " + finding.id + " (" +
                 std::string(severity_name(finding.severity)) + ")");
    return true;
  }
  return false;
}

// Memory that programs can still take, from /proc/meminfo; 0 where that does not say.
uint64_t available_bytes() {
  std::ifstream lines("/proc/meminfo");
  for (std::string key; lines >> key;) {
    uint64_t kilobytes = 0;
    lines >> kilobytes;
    if (key == "MemAvailable:") return kilobytes << 10;
    lines.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

// A .sscope file unfolds to about thirty times its size in memory.
bool is_too_large_to_load(const std::string& path) {
  constexpr uint64_t kUnfolds = 30;
  std::error_code error;
  const uintmax_t bytes = std::filesystem::file_size(path, error);
  const uint64_t available = available_bytes();
  return !error && available > 0 && bytes > available / kUnfolds;
}

// Prints the views block by block, in little memory. False: stop.
bool report_stream(FileSliceStream& stream, const Input& input, const ReportArguments& options,
                   TableOutput& out, int& exit_code) {
  for (const std::string& view : options.views) {
    if (const Status status = stream.rewind(); !status) {
      exit_code = print_fault(status);
      return false;
    }
    auto table = make_view(stream, Stats(), view, options.table);
    if (!table) {
      exit_code =
          print_usage_error(kReportCommand, "--view " + view + ": " + table.status().message());
      return false;
    }
    const format::ReadReport report = stream.report();
    table->stats.add(Stat::kBlocksDamaged, report.blocks_damaged);
    table->stats.add(Stat::kBlocksUnknown, report.unknown_blocks);
    table->stats.add(Stat::kBytesLost, report.bytes_lost);
    table->stats.add(Stat::kBytesTruncated, report.torn_tail_bytes);
    out.add(*table, input.path);
    if (!out.ok()) return false;
  }
  return true;
}

// The file as a stream, where it was asked for or where it does not fit into memory; null: load it.
std::unique_ptr<FileSliceStream> open_stream(const Input& input, const ReportArguments& options) {
  const bool can_stream = std::all_of(
      options.views.begin(), options.views.end(),
      [](const std::string& name) { return find_any_view(name)->make_from_stream != nullptr; });
  if (!options.what_if.empty()) return nullptr;
  if (!options.stream && (!can_stream || !is_too_large_to_load(input.path))) return nullptr;
  auto stream = FileSliceStream::open(input.path);
  return stream ? *std::move(stream) : nullptr;
}

bool are_of_a_job(const std::vector<std::string>& views) {
  return std::all_of(views.begin(), views.end(), [](const std::string& view) {
    return view == "ranks" || view == "collectives";
  });
}

int run(ReportArguments& options) {
  if (!options.range.empty()) {
    const auto range = parse_range(options.range);
    if (!range) return print_usage_error(kReportCommand, range.status().message());
    options.table.range = *range;
  }
  if (options.all) {
    for (const View& view : all_views()) options.views.emplace_back(view.name);
  }
  if (options.views.empty() && options.what_if.empty()) options.views.emplace_back("overview");

  int exit_code = kExitFine;
  std::vector<Input> inputs;
  std::vector<std::string> here_paths;
  for (const std::string& path : options.paths) {
    const auto here = bring_here(path);
    if (!here) exit_code = print_fault(here.status());
    for (const std::string& trace : here ? *here : std::vector<std::string>()) {
      here_paths.push_back(trace);
      const auto files = find_trace_files(trace);
      if (!files) {
        exit_code = print_fault(files.status());
        continue;
      }
      for (const std::string& file : *files) inputs.push_back({file, is_folder(trace)});
    }
  }
  // Several traces are the ranks of one job; a run's folder may hold several.
  if (are_of_a_job(options.views) && options.what_if.empty() &&
      (inputs.size() > 1 || (inputs.size() == 1 && count_ranks(inputs.front().path) > 1))) {
    JobRequest request;
    request.command = kReportCommand;
    request.paths = std::move(here_paths);
    request.views = options.views;
    request.table = options.table;
    request.output = options.output;
    return std::max(exit_code, print_job_views(request));
  }
  const bool has_several_paths = inputs.size() > 1 || options.paths.size() > 1;
  const size_t tables = options.views.size() + (options.what_if.empty() ? 0 : 1);
  const bool has_several_tables = has_several_paths || tables > 1;
  if (has_several_tables && options.output.format == "csv") {
    return print_usage_error(kReportCommand,
                             "--format csv holds one table: name one trace and one --view");
  }
  if (inputs.empty()) return exit_code;

  auto out = TableOutput::create(options.output, has_several_tables, has_several_paths);
  if (!out) return print_fault(out.status());
  size_t loaded = 0;
  for (const Input& input : inputs) {
    if (const auto stream = open_stream(input, options)) {
      ++loaded;
      if (!report_stream(*stream, input, options, **out, exit_code)) break;
      continue;
    }
    const auto trace = load_trace(input.path);
    if (!trace) {
      const int fault = print_fault(trace.status());
      // A folder may hold other JSON files as well: they are named, and that is all.
      if (!input.is_from_folder) exit_code = fault;
      continue;
    }
    ++loaded;
    if (!report_trace(*trace, input, options, **out, exit_code)) break;
    if (fails(*trace, input, options)) exit_code = kExitFault;
  }
  if (loaded == 0 || exit_code == kExitUsage) return std::max(exit_code, kExitFault);
  if (const Status status = (*out)->finish(); !status) return print_fault(status);
  return exit_code;
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  const auto options = std::make_shared<ReportArguments>();
  CLI::App* command =
      app.add_subcommand(kReportCommand, "Print what a trace says: operators, steps, …");
  command->description(kReportDescription);
  command
      ->add_option(
          "PATH", options->paths,
          "Trace files, folders with traces, TensorBoard log folders; \"-\" is standard input")
      ->required()
      ->type_name("");
  CLI::Option* view =
      command
          ->add_option(
              "--view", options->views,
              "What to print, see below; overview if not given; may be given several times")
          ->check(check_view)
          ->delimiter(',')
          ->allow_extra_args(false)
          ->type_name("NAME");
  command->add_flag("--all", options->all, "Print all views")->excludes(view);
  command->add_flag("--stream", options->stream,
                    "Read a .sscope file block by block, in little memory: operators, kernels and "
                    "functions; files too large for memory are read so anyway");
  add_row_options(*command, options->table, "the view's own limit");
  command
      ->add_option("--track", options->table.track,
                   "Only tracks (see --view tracks) whose name matches this regular expression")
      ->check(check_pattern)
      ->type_name("RE");
  command
      ->add_option("--range", options->range,
                   "Only what starts between two times from the trace's begin: 1.5s..2s, 120ms.., "
                   "..300us")
      ->type_name("A..B");
  command
      ->add_option(
          "--by", options->table.by,
          "How to group: shape or stack (operators), thread or, of samples, line (functions), "
          "operator or category (memory), rank (collectives), time (devices, launches, copies), "
          "stream, type or annotation (gpu), call or stream (launches), event, edge, graph or type "
          "(critical_path)")
      ->check(
          CLI::IsMember(std::vector<std::string>(kTableGroupings.begin(), kTableGroupings.end())))
      ->type_name("WHAT");
  command
      ->add_option("--within", options->table.within,
                   "critical_path: of the scope with this in its name, its N-th with @N after it: "
                   "ProfilerStep@1")
      ->type_name("SCOPE");
  command
      ->add_option("--weight", options->table.weight,
                   "Which time of samples counts: cpu (the default where it is known) or wall, "
                   "waiting too")
      ->check(CLI::IsMember({"cpu", "wall"}))
      ->type_name("WHICH");
  command
      ->add_option("--depth", options->table.depth,
                   "Levels of the tree; functions of a stack (operators --by stack)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  command->add_flag("--heaviest", options->table.heaviest,
                    "Of the tree, only the path that holds most of the time");
  command
      ->add_option("--what-if", options->what_if,
                   "What a step would take with a finding (its id) mended, or with a function, "
                   "operator or kernel k times as fast: NAME=2x, or NAME=0 for none of it; may be "
                   "given several times")
      ->allow_extra_args(false)
      ->type_name("WHAT");
  command
      ->add_option("--fail-on", options->fail_on,
                   "Exit with 1 where a finding is at least this severe: info, warning, critical")
      ->check(CLI::IsMember({"info", "warning", "critical"}))
      ->type_name("SEVERITY");
  add_table_output_options(*command, options->output);
  command->footer(describe_views());
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace stepscope::cli
