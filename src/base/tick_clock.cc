#include "base/tick_clock.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace stepscope {
namespace {

constexpr int kTries = 8;
constexpr int64_t kMeasureNs = 300'000;

bool has_word(const std::string& line, const char* wanted) {
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    if (word == wanted) return true;
  }
  return false;
}

bool find_out() {
#if defined(__aarch64__)
  return true;
#elif defined(__x86_64__)
  return counter_runs_evenly("/proc/cpuinfo",
                             "/sys/devices/system/clocksource/clocksource0/available_clocksource");
#else
  return false;
#endif
}

}  // namespace

const bool kTicksAreCounter = find_out();

bool counter_runs_evenly(const char* cpuinfo_path, const char* clocksources_path) {
  std::ifstream cpuinfo(cpuinfo_path);
  bool is_even = false;
  for (std::string line; std::getline(cpuinfo, line);) {
    if (!line.starts_with("flags")) continue;
    is_even = has_word(line, "constant_tsc") && has_word(line, "nonstop_tsc");
    break;
  }
  if (!is_even) return false;
  // A counter that differs between the cores is taken off this list. No list: nothing against it.
  std::ifstream sources(clocksources_path);
  std::string line;
  return !std::getline(sources, line) || has_word(line, "tsc");
}

ClockReading read_clocks(uint64_t ticks_per_second) {
  ClockReading best;
  uint64_t best_width = UINT64_MAX;
  for (int i = 0; i < kTries; ++i) {
    const uint64_t before = read_ticks();
    const int64_t monotonic_ns = read_clock_ns(CLOCK_MONOTONIC);
    const int64_t realtime_ns = read_clock_ns(CLOCK_REALTIME);
    const uint64_t after = read_ticks();
    if (after - before >= best_width) continue;
    best_width = after - before;
    best = {before + best_width / 2, monotonic_ns, realtime_ns, 0};
  }
  const double ns_per_tick = 1e9 / static_cast<double>(std::max<uint64_t>(ticks_per_second, 1));
  best.error_ns = static_cast<int64_t>(static_cast<double>(best_width) * ns_per_tick / 2) + 1;
  return best;
}

uint64_t measure_ticks_per_second() {
  if (!kTicksAreCounter) return 1'000'000'000;
#if defined(__aarch64__)
  uint64_t rate = 0;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(rate));
  if (rate > 0) return rate;
#endif
  const ClockReading first = read_clocks(1'000'000'000);
  while (read_clock_ns(CLOCK_MONOTONIC) - first.monotonic_ns < kMeasureNs) {
  }
  const ClockReading last = read_clocks(1'000'000'000);
  const double seconds = static_cast<double>(last.monotonic_ns - first.monotonic_ns) / 1e9;
  return static_cast<uint64_t>(static_cast<double>(last.ticks - first.ticks) / seconds);
}

double measure_tick_read_ns(uint64_t ticks_per_second) {
  constexpr int kReads = 64;
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < kTries; ++i) {
    const uint64_t begin = read_ticks();
    uint64_t now = begin;
    for (int read = 0; read < kReads; ++read) now = read_ticks();
    least = std::min(least, now - begin);
  }
  return static_cast<double>(least) * 1e9 / static_cast<double>(ticks_per_second) / kReads;
}

}  // namespace stepscope
