// Tells when a function or method of another library is called.
#pragma once

#include <nanobind/nanobind.h>

namespace stepscope {

void bind_call_watch(nanobind::module_& m);

}  // namespace stepscope
