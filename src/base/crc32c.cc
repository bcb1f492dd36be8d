#include "base/crc32c.h"

#include <array>
#include <cstddef>

#include "base/bytes.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace stepscope {
namespace {

constexpr uint32_t kReflectedPolynomial = 0x82F63B78;

using Tables = std::array<std::array<uint32_t, 256>, 8>;

// tables[k][b] is the CRC of byte b followed by k zero bytes: eight lookups advance by eight bytes.
constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kReflectedPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t shorter = tables[k - 1][byte];
      tables[k][byte] = (shorter >> 8) ^ tables[0][shorter & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

#if defined(__x86_64__)

bool cpu_has_crc() { return __builtin_cpu_supports("sse4.2"); }

__attribute__((target("sse4.2"))) uint32_t crc32c_cpu(std::span<const uint8_t> bytes,
                                                      uint32_t previous) {
  const uint8_t* at = bytes.data();
  size_t left = bytes.size();
  uint64_t crc = ~previous;
  for (; left >= 8; at += 8, left -= 8) crc = _mm_crc32_u64(crc, load_le<uint64_t>(at));
  auto crc32 = static_cast<uint32_t>(crc);
  for (; left > 0; ++at, --left) crc32 = _mm_crc32_u8(crc32, *at);
  return ~crc32;
}

#elif defined(__aarch64__)

bool cpu_has_crc() { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }

__attribute__((target("+crc"))) uint32_t crc32c_cpu(std::span<const uint8_t> bytes,
                                                    uint32_t previous) {
  const uint8_t* at = bytes.data();
  size_t left = bytes.size();
  uint32_t crc = ~previous;
  for (; left >= 8; at += 8, left -= 8) crc = __crc32cd(crc, load_le<uint64_t>(at));
  for (; left > 0; ++at, --left) crc = __crc32cb(crc, *at);
  return ~crc;
}

#else

bool cpu_has_crc() { return false; }

uint32_t crc32c_cpu(std::span<const uint8_t> bytes, uint32_t previous) {
  return crc32c_portable(bytes, previous);
}

#endif

}  // namespace

uint32_t crc32c_portable(std::span<const uint8_t> bytes, uint32_t previous) {
  const uint8_t* at = bytes.data();
  size_t left = bytes.size();
  uint32_t crc = ~previous;
  for (; left >= 8; at += 8, left -= 8) {
    const uint64_t word = load_le<uint64_t>(at) ^ crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][(word >> (8 * k)) & 0xFF];
  }
  for (; left > 0; ++at, --left) crc = (crc >> 8) ^ kTables[0][(crc ^ *at) & 0xFF];
  return ~crc;
}

bool crc32c_is_accelerated() {
  static const bool accelerated = cpu_has_crc();
  return accelerated;
}

uint32_t crc32c(std::span<const uint8_t> bytes, uint32_t previous) {
  return crc32c_is_accelerated() ? crc32c_cpu(bytes, previous) : crc32c_portable(bytes, previous);
}

}  // namespace stepscope
