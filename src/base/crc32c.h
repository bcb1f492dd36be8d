// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78), as in iSCSI (RFC 3720), ext4 and the
// .sscope file. Uses the CPU's CRC instruction where there is one (SSE 4.2, ARMv8), else eight
// tables.
//
//   uint32_t crc = crc32c(header);
//   crc = crc32c(payload, crc);  // the same as over both, one after the other
#pragma once

#include <cstdint>
#include <span>

namespace stepscope {

uint32_t crc32c(std::span<const uint8_t> bytes, uint32_t previous = 0);

// The table implementation, for machines without the instruction and for comparison in tests.
uint32_t crc32c_portable(std::span<const uint8_t> bytes, uint32_t previous = 0);

// Whether crc32c() uses the CPU's instruction here.
bool crc32c_is_accelerated();

}  // namespace stepscope
