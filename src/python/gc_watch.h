// Tells of Python's garbage collections: a slice for each, on the thread that had to do it.
#pragma once

#include <nanobind/nanobind.h>

namespace stepscope {

void bind_gc_watch(nanobind::module_& m);

}  // namespace stepscope
