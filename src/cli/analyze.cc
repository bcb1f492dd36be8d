// stepscope analyze: MegEngine's profile_analyze, for every trace with operators.
#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analyze/profile_analyze.h"
#include "analyze/profile_text.h"
#include "cli/commands.h"
#include "cli/load_trace.h"
#include "cli/table_output.h"
#include "export/output_file.h"

namespace stepscope::cli {
namespace {

constexpr const char* kAnalyzeCommand = "analyze";

constexpr const char* kAnalyzeDescription =
    R"(List the operators that took longest, with FLOPs, bytes and shapes: MegEngine's profile_analyze,
with its options and columns, for its static profiles and for traces of PyTorch, TensorFlow and JAX.

Examples:
  stepscope analyze profile.json -t 10                      the ten operators that took longest
  stepscope analyze profile.json --aggregate-by type --aggregate sum -t 0
  stepscope analyze profile.json --type ConvolutionForward --order-by flops --min-time 1e-5
  stepscope analyze trace.json --opr-name 'layer1.*conv' --order-by +bandwidth
  stepscope analyze runs/monday --aggregate-by type --format csv > operators.csv
  stepscope analyze profile.json --confluence --print-only device)";

constexpr const char* kAnalyzeFooter =
    R"(Columns to order by: time, computation, flops, memory, bandwidth, count, opr_id. What is not known
is N/A, and last in every order. Of a trace that is no static profile of MegEngine, an operator is
one call of it, its type is its name, and "bound" says what holds it up: compute, memory, overhead.)";

struct AnalyzeArguments {
  std::string path;
  ProfileQuery query;
  std::string aggregate_by;
  std::string aggregate;
  std::string top_end_key = "end";
  bool show_host = false;
  std::string print_only;
  ProfileTextOptions text;
  TableOutputOptions output;
};

int print_text(const ProfileAnalysis& analysis, const AnalyzeArguments& options) {
  const auto rows = [&](bool of_host) { return profile_rows(analysis, of_host, options.text); };
  std::string text;
  if (options.print_only == "summary") {
    text = profile_summary(analysis, options.text);
  } else if (!options.print_only.empty()) {
    text = rows(options.print_only == "host");
  } else {
    text = profile_summary(analysis, options.text) + "\n" + rows(false);
    if (options.show_host) text += "\n" + rows(true);
  }
  auto out = OutputFile::create(options.output.path);
  if (!out) return print_fault(out.status());
  (*out)->append(text);
  if (const Status status = (*out)->finish(); !status) return print_fault(status);
  for (const std::string& note : analysis.notes) print_remark(note);
  return kExitFine;
}

int print_tables(const ProfileAnalysis& analysis, const std::string& path,
                 const AnalyzeArguments& options) {
  if (options.print_only == "summary") {
    return print_usage_error(kAnalyzeCommand, "--print-only summary has the format text only");
  }
  const bool has_host = options.show_host || options.print_only == "host";
  const bool has_device = options.print_only != "host";
  if (has_host && has_device && options.output.format == "csv") {
    return print_usage_error(kAnalyzeCommand,
                             "--format csv holds one table: --print-only device or host");
  }
  auto out = TableOutput::create(options.output, has_host && has_device, false);
  if (!out) return print_fault(out.status());
  if (has_device) (*out)->add(profile_table(analysis, false), path);
  if (has_host) (*out)->add(profile_table(analysis, true), path);
  const Status status = (*out)->finish();
  return status ? kExitFine : print_fault(status);
}

int run(AnalyzeArguments& options) {
  static const std::map<std::string, Aggregate> kAggregates = {{"max", Aggregate::kMax},
                                                               {"min", Aggregate::kMin},
                                                               {"sum", Aggregate::kSum},
                                                               {"mean", Aggregate::kMean}};
  options.query.to_kernel = options.top_end_key == "kern";
  options.query.aggregate_by_type = options.aggregate_by == "type";
  if (options.query.aggregate_by_type) options.query.aggregate = Aggregate::kSum;
  if (!options.aggregate.empty()) options.query.aggregate = kAggregates.at(options.aggregate);

  const auto path = find_trace(options.path);
  if (!path) return print_fault(path.status());
  const auto trace = load_trace(*path);
  if (!trace) return print_fault(trace.status());
  const auto analysis = analyze_profile(*trace, options.query);
  if (!analysis) return print_usage_error(kAnalyzeCommand, analysis.status().message());
  return options.output.format == "text" ? print_text(*analysis, options)
                                         : print_tables(*analysis, *path, options);
}

}  // namespace

void add_analyze(CLI::App& app, Action& action) {
  const auto options = std::make_shared<AnalyzeArguments>();
  CLI::App* command = app.add_subcommand(
      kAnalyzeCommand, "List operators with FLOPs and bytes, as MegEngine's tool does");
  command->description(kAnalyzeDescription);
  command
      ->add_option(
          "PATH", options->path,
          "A static profile, a trace file, or the folder of a run; \"-\" is standard input")
      ->required()
      ->type_name("");
  command->add_option("-t,--top", options->query.top, "Print so many operators; 0 is all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str()
      ->type_name("N");
  command
      ->add_option("--type", options->query.types,
                   "Only operators of this type; may be given several times")
      ->allow_extra_args(false)
      ->type_name("TYPE");
  command
      ->add_option("--opr-name", options->query.opr_name,
                   "Only operators whose name begins with a match of this regular expression")
      ->type_name("RE");
  command
      ->add_option("--input-dtype", options->query.input_dtype,
                   "Only operators with an input of this type (Float32; of a trace: float)")
      ->type_name("DTYPE");
  command
      ->add_option("--aggregate-by", options->aggregate_by, "One row for all operators of a type")
      ->check(CLI::IsMember({"type"}))
      ->type_name("type");
  command
      ->add_option(
          "--aggregate", options->aggregate,
          "How times, FLOPs and bytes of several become one: max, min, sum (the default with "
          "--aggregate-by), mean; all operators together without --aggregate-by")
      ->check(CLI::IsMember({"max", "min", "sum", "mean"}))
      ->type_name("HOW");
  command
      ->add_option("--order-by", options->query.order_by,
                   "Order by this column, see below; +COLUMN is ascending")
      ->capture_default_str()
      ->type_name("COLUMN");
  command
      ->add_option("--top-end-key", options->top_end_key,
                   "What the time is: to the operator's end, or to the begin of its kernel (kern), "
                   "which is waiting")
      ->check(CLI::IsMember({"end", "kern"}))
      ->capture_default_str()
      ->type_name("WHICH");
  command
      ->add_option("--min-time", options->query.min_time_s,
                   "Only operators of at least so many seconds")
      ->type_name("S");
  command
      ->add_option("--max-time", options->query.max_time_s,
                   "Only operators of at most so many seconds")
      ->type_name("S");
  command->add_flag("--copy-time", options->query.copy_time,
                    "Also how long copies took and waited");
  command->add_flag("--show-host", options->show_host, "Also the times on the host");
  command->add_flag("--dump-only-opr", options->text.only_operators,
                    "Only name, type and id of each operator, to compare two profiles");
  command->add_flag("--confluence,--wiki", options->text.is_wiki, "Tables for a wiki");
  command->add_option("--print-only", options->print_only, "Only one part: summary, device, host")
      ->check(CLI::IsMember({"summary", "device", "host"}))
      ->type_name("PART");
  add_table_output_options(*command, options->output);
  command->footer(kAnalyzeFooter);
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace stepscope::cli
