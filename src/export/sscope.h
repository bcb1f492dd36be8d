// Puts a trace into a .sscope file: trace/trace_file.h writes it, this makes it appear whole or not
// at all, and lets it go to standard output as well.
#pragma once

#include <string>

#include "base/status.h"
#include "trace/trace.h"

namespace stepscope {

Status write_sscope_file(const Trace& trace, const std::string& path);

}  // namespace stepscope
