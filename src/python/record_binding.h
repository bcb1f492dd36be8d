// What the extension shows of the recorder: the table of stepscope/record.h as the capsule
// `record_table`, for extension modules, and private functions that start and stop a recording.
#pragma once

#include <nanobind/nanobind.h>

namespace stepscope {

void bind_recorder(nanobind::module_& m);

}  // namespace stepscope
