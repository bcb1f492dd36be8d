// A child process that stands in for this one: signals that this one gets go to it, and this one
// ends as it ended.
//
//   Result<int> status = run_child({"python", "train.py"}, environment);   // as of waitpid()
//   if (status) exit_as(*status);
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace stepscope::cli {

// Runs the program at arguments[0] (a path) to its end. `environment` holds "KEY=value". `on_start`
// is called once the program has taken the child over.
Result<int> run_child(const std::vector<std::string>& arguments,
                      const std::vector<std::string>& environment,
                      const std::function<void(pid_t)>& on_start = {});

// The exit code of a child that left by itself. One that a signal killed kills this process in the
// same way.
int exit_as(int status);

}  // namespace stepscope::cli
