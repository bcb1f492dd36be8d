// CallStats for Python: what stepscope.pstats stands on.
#pragma once

#include <nanobind/nanobind.h>

namespace stepscope {

void bind_call_stats(nanobind::module_& m);

}  // namespace stepscope
