// os._exit() leaves without a word, and multiprocessing's children always leave by it. While this
// watches, it closes the recording first, which would otherwise have to be recovered.
#pragma once

#include <nanobind/nanobind.h>

namespace stepscope {

void bind_exit_watch(nanobind::module_& m);

}  // namespace stepscope
