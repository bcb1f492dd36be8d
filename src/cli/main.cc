#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "cli/command_line.h"

namespace {

// Columns of megabytes come and go while a trace is loaded and read, and fresh pages cost the
// kernel more than the work on them does. So the heap is one stretch of address space in huge
// pages, and what was touched once is kept for the next column. Where the system does not go along,
// nothing but time is lost.
void prepare_heap() {
  constexpr int kLargestInHeap = 32 << 20;  // larger ones get pages of their own
  constexpr int kAheadBytes = 256 << 20;    // only address space until it is used
  mallopt(M_MMAP_THRESHOLD, kLargestInHeap);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, kAheadBytes);
  constexpr uintptr_t kPageMask = 4095;
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(sbrk(0)) + kPageMask) & ~kPageMask;
  // More than there is: the heap grows. Volatile, or the compiler leaves both calls out.
  void* volatile block = std::malloc(kLargestInHeap / 2);
  std::free(block);
  const auto end = reinterpret_cast<uintptr_t>(sbrk(0));
  if (end > begin) (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

}  // namespace

int main(int argc, char** argv) {
  prepare_heap();
  return stepscope::cli::run_command_line(argc, argv);
}
