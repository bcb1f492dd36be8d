// Durations and sizes as people write them: 10us, 1.5ms, 200MB, 1GB.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace stepscope::cli {

// Units are ns, us, ms, s and m; only 0 goes without one. A message begins with the text.
Result<int64_t> parse_duration_ns(std::string_view text);

// Units are B, KB, MB, GB and TB (powers of 1,000) and KiB, MiB, GiB, TiB (of 1,024); a bare number
// is bytes.
Result<uint64_t> parse_bytes(std::string_view text);

}  // namespace stepscope::cli
