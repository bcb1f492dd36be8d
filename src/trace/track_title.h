// Tracks as users see them: in tables, pictures and the viewer.
#pragma once

#include <string>

#include "trace/trace.h"

namespace stepscope {

// "thread 25772 (python)", "stream 7", "memory.RSS".
std::string track_name(const Trace& trace, TrackId track);
// With where it is, and as --track matches it: "python 25738 / thread 25772 (python)".
std::string track_title(const Trace& trace, TrackId track);

}  // namespace stepscope
