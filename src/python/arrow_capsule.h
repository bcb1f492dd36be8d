// Arrow streams as the capsules that __arrow_c_stream__ gives (the Arrow PyCapsule interface). Each
// call makes a new stream, so that what exports it can be read again and again.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "analyze/table.h"
#include "trace/trace.h"

namespace stepscope {

nanobind::capsule arrow_capsule(std::shared_ptr<const Table> table);
nanobind::capsule slices_arrow_capsule(std::shared_ptr<const Trace> trace);

}  // namespace stepscope
