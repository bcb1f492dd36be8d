// stepscope._core: the tracer of Python calls.
#pragma once

#include <nanobind/nanobind.h>

namespace stepscope {

void bind_tracer(nanobind::module_& m);

}  // namespace stepscope
