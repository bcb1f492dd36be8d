// Tells when a module has been loaded.
#pragma once

#include <nanobind/nanobind.h>

namespace stepscope {

void bind_import_watch(nanobind::module_& m);

}  // namespace stepscope
