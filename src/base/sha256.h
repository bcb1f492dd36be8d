// SHA-256 (FIPS 180-4), for the hashes by which a page's Content-Security-Policy names its script.
// Of texts that are whole in memory.
//
//   std::array<uint8_t, 32> hash = sha256("abc");   // ba7816bf…
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace stepscope {

std::array<uint8_t, 32> sha256(std::string_view text);

}  // namespace stepscope
