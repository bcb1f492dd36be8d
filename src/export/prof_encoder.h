// Encodes a CallProfile as a `.prof`: a pstats dictionary in version 4 of Python's marshal format,
// which Python 3.4 and later read. Each text and each function is written once and then meant
// again, so that files are about half as large as cProfile's own.
#pragma once

#include <string>

#include "trace/call_profile.h"

namespace stepscope {

std::string encode_prof(const CallProfile& profile);

}  // namespace stepscope
