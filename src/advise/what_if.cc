#include "advise/what_if.h"

#include "trace/function_name.h"

namespace stepscope {

WhatIf::WhatIf(const Trace& of_trace)
    : trace(of_trace),
      host(of_trace.labels().size(), 1),
      device(of_trace.labels().size(), 1),
      launched(of_trace.labels().size(), 1) {}

void WhatIf::scale(LabelId label, float left) {
  if (is_device_work(trace.labels()[label].kind)) {
    device[index(label)] = left;
  } else {
    host[index(label)] = left;
    launched[index(label)] = left;
  }
}

bool WhatIf::scale(std::string_view name, float left) {
  bool any = false;
  for (uint32_t i = 0; i < trace.labels().size(); ++i) {
    const Label& label = trace.labels()[LabelId{i}];
    const std::string_view known = trace.string(label.name);
    const bool is_function = label.kind == SliceKind::kPython || label.kind == SliceKind::kCall;
    if (known != name && !(is_function && parse_function_name(known).name == name)) continue;
    scale(LabelId{i}, left);
    any = true;
  }
  return any;
}

}  // namespace stepscope
