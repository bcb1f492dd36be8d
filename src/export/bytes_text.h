// A number of bytes as the pictures write it: "831 B", "1.204 KiB", "177.6 MiB".
#pragma once

#include <cstdint>
#include <string>

namespace stepscope {

std::string bytes_text(int64_t bytes);

}  // namespace stepscope
