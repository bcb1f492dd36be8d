#include "cli/row_options.h"

#include <CLI/App.hpp>
#include <CLI/Validators.hpp>

#include "analyze/pattern.h"

namespace stepscope::cli {

std::string check_pattern(const std::string& expression) {
  const auto pattern = Pattern::make(expression);
  return pattern ? "" : pattern.status().message();
}

void add_row_options(CLI::App& command, TableOptions& options, const std::string& default_limit) {
  command
      .add_option("--sort", options.sort,
                  "Sort by this column; -COLUMN descending, +COLUMN ascending")
      ->type_name("COLUMN");
  command
      .add_option("--limit", options.limit,
                  "Print at most so many rows; 0 is all; " + default_limit + " if not given")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  command
      .add_option("--filter", options.filter,
                  "Only rows whose name matches this regular expression")
      ->check(check_pattern)
      ->type_name("RE");
}

}  // namespace stepscope::cli
