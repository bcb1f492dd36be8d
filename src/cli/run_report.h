// What `stepscope run` prints on stderr when the program has ended.
#pragma once

#include <string>

namespace stepscope::cli {

void print_run_report(const std::string& folder);

}  // namespace stepscope::cli
