#include "trace/prefault.h"

#include <sys/mman.h>

#include <cstdint>

namespace stepscope {
namespace {

// The library allocates smaller pieces from memory that is mostly in use already.
constexpr size_t kLeastBytes = size_t{128} << 10;
constexpr uintptr_t kPageBytes = 4096;
constexpr uintptr_t kHugePageBytes = uintptr_t{2} << 20;
constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, Linux 5.14; older headers lack it

// Calls madvise on the whole pages of `page_bytes` between the two addresses.
void advise(uintptr_t begin, uintptr_t end, uintptr_t page_bytes, int advice) {
  begin = (begin + page_bytes - 1) & ~(page_bytes - 1);
  end &= ~(page_bytes - 1);
  if (begin >= end) return;
  // Only advice: where it is not taken, the pages come when they are touched.
  (void)::madvise(reinterpret_cast<void*>(begin), end - begin, advice);
}

}  // namespace

void prefault(void* begin, size_t bytes) {
  if (bytes < kLeastBytes) return;
  const auto from = reinterpret_cast<uintptr_t>(begin);
  advise(from, from + bytes, kHugePageBytes, MADV_HUGEPAGE);
  advise(from, from + bytes, kPageBytes, kPopulateWrite);
}

}  // namespace stepscope
