// A sampler of this process itself, on a thread that takes no lock of Python's.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

namespace stepscope {

void bind_sampler(nanobind::module_& m);

// Ends it, where there is one. Says what went wrong; "" for nothing.
std::string stop_sampling();

}  // namespace stepscope
