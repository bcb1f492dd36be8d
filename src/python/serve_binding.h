// stepscope._core: what the viewer asks and its page, for servers that are written in Python.
#pragma once

#include <nanobind/nanobind.h>

namespace stepscope {

void bind_serve(nanobind::module_& m);

}  // namespace stepscope
