// stepscope diff: what got faster and what slower from one trace to another.
#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "analyze/diff.h"
#include "analyze/job_diff.h"
#include "cli/commands.h"
#include "cli/job_views.h"
#include "cli/load_trace.h"
#include "cli/merge_ranks.h"
#include "cli/row_options.h"
#include "cli/table_output.h"

namespace stepscope::cli {
namespace {

constexpr const char* kDiffCommand = "diff";

constexpr const char* kDiffDescription =
    R"(Print what got faster and what slower from one trace, or job of many ranks, to another, per step.

Examples:
  stepscope diff outputs/before outputs/after
  stepscope diff before.sscope after.sscope --filter 'conv|augment' --limit 0
  stepscope diff jobs/monday jobs/tuesday         folders with a trace of each rank
  stepscope diff nightly.sscope today.sscope --fail-on-regression 5%)";

struct DiffArguments {
  std::string before, after;
  std::string fail_on;  // "5%"
  TableOptions table;
  TableOutputOptions output;
};

// "5%" or "0.05".
Result<double> parse_share(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  if (error != std::errc() || value < 0 || !(unit.empty() || unit == "%")) {
    return Status::error("--fail-on-regression " + text + ": write it as 5% or 0.05");
  }
  return unit == "%" ? value / 100 : value;
}

Result<Trace> load_one(const std::string& path) {
  const auto file = find_trace(path);
  if (!file) return file.status();
  return load_trace(*file);
}

// Of two jobs, where either path stands for several ranks. Nothing, and the exit code, where it can
// not be made.
std::optional<Diff> make_diff(const DiffArguments& options, int& exit_code) {
  const auto fail = [&](int code) {
    exit_code = code;
    return std::nullopt;
  };
  Result<Diff> diff = Status::error("not made");
  if (has_several_ranks({options.before}) || has_several_ranks({options.after})) {
    JobRequest request;
    request.paths = {options.before};
    const auto before = load_job(request, exit_code);
    if (!before) return fail(print_fault(before.status()));
    request.paths = {options.after};
    const auto after = load_job(request, exit_code);
    if (!after) return fail(print_fault(after.status()));
    diff = compare_jobs(*before, *after, options.table);
  } else {
    const auto before = load_one(options.before);
    if (!before) return fail(print_fault(before.status()));
    const auto after = load_one(options.after);
    if (!after) return fail(print_fault(after.status()));
    diff = compare(*before, *after, options.table);
  }
  if (!diff) return fail(print_usage_error(kDiffCommand, diff.status().message()));
  return *std::move(diff);
}

int run(const DiffArguments& options) {
  double limit = -1;
  if (!options.fail_on.empty()) {
    const auto parsed = parse_share(options.fail_on);
    if (!parsed) return print_usage_error(kDiffCommand, parsed.status().message());
    limit = *parsed;
  }
  int exit_code = kExitFine;
  const auto diff = make_diff(options, exit_code);
  if (!diff) return exit_code;
  auto out = TableOutput::create(options.output, false, false);
  if (!out) return print_fault(out.status());
  (*out)->add(diff->table, options.after);
  if (const Status status = (*out)->finish(); !status) return print_fault(status);
  if (limit < 0 || diff->step.certain_growth() <= limit) return exit_code;
  print_remark(options.after + ": slower than " + options.before + " by more than " +
               options.fail_on);
  return kExitFault;
}

}  // namespace

void add_diff(CLI::App& app, Action& action) {
  const auto options = std::make_shared<DiffArguments>();
  CLI::App* command = app.add_subcommand(
      kDiffCommand, "Print what got faster and slower from one trace to another");
  command->description(kDiffDescription);
  command->add_option("A", options->before, "The trace before, or a folder with those of all ranks")
      ->required()
      ->type_name("");
  command->add_option("B", options->after, "The trace after, or a folder")
      ->required()
      ->type_name("");
  add_row_options(*command, options->table, "40");
  command
      ->add_option("--fail-on-regression", options->fail_on,
                   "Exit with 1 where a step takes more than this longer, beyond what is noise")
      ->type_name("SHARE");
  add_table_output_options(*command, options->output);
  command->footer("Times are means of the steady steps; of whole traces where one has no steps.");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace stepscope::cli
