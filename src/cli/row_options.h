// --sort, --limit and --filter, for all commands that print tables.
#pragma once

#include <string>

#include "analyze/table.h"

namespace CLI {
class App;
}

namespace stepscope::cli {

// `default_limit` is for the help: "the view's own limit", "40".
void add_row_options(CLI::App& command, TableOptions& options, const std::string& default_limit);

// For options that are regular expressions: "" or what is wrong with it.
std::string check_pattern(const std::string& expression);

}  // namespace stepscope::cli
