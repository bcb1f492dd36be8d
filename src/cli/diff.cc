// stepscope diff: what got faster and what slower from one trace to another.
#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <charconv>
#include <memory>
#include <string>

#include "analyze/diff.h"
#include "analyze/pattern.h"
#include "cli/commands.h"
#include "cli/load_trace.h"
#include "cli/table_output.h"

namespace stepscope::cli {
namespace {

constexpr const char* kDiffCommand = "diff";

constexpr const char* kDiffDescription =
    R"(Print what got faster and what slower from one trace to another, per step.

Examples:
  stepscope diff outputs/before outputs/after
  stepscope diff before.sscope after.sscope --filter 'conv|augment' --limit 0
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

int run(const DiffArguments& options) {
  double limit = -1;
  if (!options.fail_on.empty()) {
    const auto parsed = parse_share(options.fail_on);
    if (!parsed) return print_usage_error(kDiffCommand, parsed.status().message());
    limit = *parsed;
  }
  const auto before = load_one(options.before);
  if (!before) return print_fault(before.status());
  const auto after = load_one(options.after);
  if (!after) return print_fault(after.status());
  const auto diff = compare(*before, *after, options.table);
  if (!diff) return print_usage_error(kDiffCommand, diff.status().message());
  auto out = TableOutput::create(options.output, false, false);
  if (!out) return print_fault(out.status());
  (*out)->add(diff->table, options.after);
  if (const Status status = (*out)->finish(); !status) return print_fault(status);
  if (limit < 0 || diff->step.certain_growth() <= limit) return kExitFine;
  print_remark(options.after + ": slower than " + options.before + " by more than " +
               options.fail_on);
  return kExitFault;
}

std::string check_pattern(const std::string& expression) {
  const auto pattern = Pattern::make(expression);
  return pattern ? "" : pattern.status().message();
}

}  // namespace

void add_diff(CLI::App& app, Action& action) {
  const auto options = std::make_shared<DiffArguments>();
  CLI::App* command = app.add_subcommand(
      kDiffCommand, "Print what got faster and slower from one trace to another");
  command->description(kDiffDescription);
  command->add_option("A", options->before, "The trace before")->required()->type_name("");
  command->add_option("B", options->after, "The trace after")->required()->type_name("");
  command
      ->add_option("--sort", options->table.sort,
                   "Sort by this column; -COLUMN descending, +COLUMN ascending")
      ->type_name("COLUMN");
  command
      ->add_option("--limit", options->table.limit,
                   "Print at most so many rows; 0 is all; 40 if "
                   "not given")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  command
      ->add_option("--filter", options->table.filter,
                   "Only rows whose name matches this regular expression")
      ->check(check_pattern)
      ->type_name("RE");
  command
      ->add_option("--fail-on-regression", options->fail_on,
                   "Exit with 1 where a step takes more than this longer, beyond what is noise")
      ->type_name("SHARE");
  add_table_output_options(*command, options->output);
  command->footer("Times are means of the steady steps; of whole traces where one has no steps.");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace stepscope::cli
