// What a user may ask of an export. Each format takes what makes sense for it.
#pragma once

#include <string>

#include "trace/columns.h"

namespace stepscope {

struct ExportOptions {
  SampleWeight sample_weight = SampleWeight::kCpuWhereKnown;
  std::string within = {};  // critical-path: a part of a scope's name, and @N for its N-th
};

}  // namespace stepscope
