// The conventions of Kineto (PyTorch's profiler), old and new, and of the other writers of Chrome
// trace-event JSON: what a category means, what the file says of its devices.
#pragma once

#include <string_view>

#include "trace/label.h"
#include "trace/trace_builder.h"

namespace stepscope {

// The kind of a slice by its category and name: "cpu_op" and the older "Operator" are operators, …
SliceKind kind_of(std::string_view category, std::string_view name);

// Kineto's deviceProperties (computeProperties in its first versions): a JSON list of objects.
void add_devices(std::string_view json, TraceBuilder& builder);

}  // namespace stepscope
