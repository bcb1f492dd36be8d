// stepscope._core: what a worker of a cluster needs: a rank's trace to the bytes of its summary.
#pragma once

#include <nanobind/nanobind.h>

namespace stepscope {

void bind_ranks(nanobind::module_& m);

}  // namespace stepscope
