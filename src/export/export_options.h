// What a user may ask of an export. Each format takes what makes sense for it.
#pragma once

#include "trace/columns.h"

namespace stepscope {

struct ExportOptions {
  SampleWeight sample_weight = SampleWeight::kCpuWhereKnown;
};

}  // namespace stepscope
