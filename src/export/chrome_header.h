// What stands beside "traceEvents" in a trace-event file: the trace's metadata, its devices, and
// the keys that readers of PyTorch's files look for.
#pragma once

#include "export/chrome_event_text.h"

namespace stepscope {

void write_chrome_header(ChromeEventText& to);

}  // namespace stepscope
