// Lifetimes: each piece of memory from the moment it was taken to the moment it was given back,
// paired from the allocations of a trace by process, device and address in order of time.
//
//   const AllocationLifetimes all = AllocationLifetimes::build(trace);
//   for (const Lifetime& life : all.lifetimes)
//     if (life.is_open()) leaked += life.bytes;
//
// - Memory that is given back but was never seen to be taken was there before: it lives from the
//   trace's begin.
// - Where a device's allocator tells its totals, what it held before the first event and never gave
//   back is one lifetime more, from the trace's begin on, without an end and without rows. Not so
//   for the CPU: torch's total there counts what was taken in earlier recordings of the same
//   process even when it was given back between them.
// - An address that is taken twice was given back unseen: the first life ends where the second
//   begins.
// - Events without an address (some files have none) pair by their bytes, the last taken first.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/allocation_device.h"
#include "trace/trace.h"

namespace stepscope {

inline constexpr uint32_t kNoAllocation = UINT32_MAX;
inline constexpr uint32_t kNoLifetime = UINT32_MAX;

struct Lifetime {
  static constexpr int64_t kOpenNs = INT64_MAX;

  int64_t begin_ns = 0;
  int64_t end_ns = kOpenNs;  // kOpenNs: not given back
  int64_t bytes = 0;         // > 0
  // Rows of Trace::allocations(), where track and slice are: who took it, who gave it back.
  // kNoAllocation where the trace does not show it.
  uint32_t taken_row = kNoAllocation;
  uint32_t freed_row = kNoAllocation;
  uint32_t space = 0;  // into AllocationLifetimes::spaces

  bool is_open() const { return end_ns == kOpenNs; }
  bool was_there_before() const { return taken_row == kNoAllocation; }
};

// Where addresses mean the same: a device as one process sees it.
struct MemorySpace {
  uint32_t process = 0;
  uint32_t device = 0;  // into AllocationLifetimes::devices
};

struct AllocationLifetimes {
  std::vector<AllocationDevice> devices;  // those in the trace, sorted
  std::vector<MemorySpace> spaces;
  std::vector<Lifetime> lifetimes;
  // By row of Trace::allocations(): the lifetime that begins there, and the one that ends there.
  std::vector<uint32_t> taken;
  std::vector<uint32_t> freed;
  uint64_t unseen_frees = 0;  // addresses that were taken twice

  static AllocationLifetimes build(const Trace& trace);
};

}  // namespace stepscope
