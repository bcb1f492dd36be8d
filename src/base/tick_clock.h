// The clock of a recording: ticks, as cheap as the machine has them, and what they are in ns.
//
// A tick is one of the CPU's time-stamp counter where that counter runs evenly whatever the CPU
// does (constant_tsc, nonstop_tsc, and the kernel has not given it up; on ARM it always does), else
// one ns of CLOCK_MONOTONIC.
//
//   const uint64_t tick = read_ticks();              // hot: some ns
//   ClockReading now = read_clocks();                // all three clocks at one moment
//   uint64_t rate = measure_ticks_per_second();      // takes a fraction of a millisecond
#pragma once

#include <ctime>

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace stepscope {

// Found out once, before main(). Read by every read_ticks().
extern const bool kTicksAreCounter;

inline int64_t read_clock_ns(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

inline uint64_t read_ticks() {
#if defined(__x86_64__)
  if (kTicksAreCounter) [[likely]] {
    return __rdtsc();
  }
#elif defined(__aarch64__)
  if (kTicksAreCounter) [[likely]] {
    uint64_t ticks = 0;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
  }
#endif
  return static_cast<uint64_t>(read_clock_ns(CLOCK_MONOTONIC));
}

struct ClockReading {
  uint64_t ticks = 0;
  int64_t monotonic_ns = 0;
  int64_t realtime_ns = 0;
  int64_t error_ns = 0;  // the three are of one moment, give or take this
};

// The best of some tries. `ticks_per_second` is for the error alone.
ClockReading read_clocks(uint64_t ticks_per_second);

uint64_t measure_ticks_per_second();

// What read_ticks() takes on this machine now; some microseconds.
double measure_tick_read_ns(uint64_t ticks_per_second);

// Whether /proc/cpuinfo and the kernel's list of clock sources vouch for the counter.
bool counter_runs_evenly(const char* cpuinfo_path, const char* clocksources_path);

}  // namespace stepscope
