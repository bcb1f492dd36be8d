// Which interpreter `stepscope run` starts, and where the package that records lies.
#pragma once

#include <string>

#include "base/status.h"

namespace stepscope::cli {

// `wanted` (a path, or a name on the PATH), else the one beside this command, else that of the
// active environment, else python3 on the PATH. `command` is argv[0].
Result<std::string> find_python(const std::string& wanted, const std::string& command);

// The folder that Python finds our sitecustomize in.
Result<std::string> find_start_folder();

}  // namespace stepscope::cli
