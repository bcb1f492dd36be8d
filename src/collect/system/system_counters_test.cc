#include "collect/system/system_counters.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <thread>

#include "collect/system/system_reader.h"

namespace stepscope {
namespace {

using std::chrono::milliseconds;

// The mean of the CPU use, user and system, over some readings.
double measure_cores(SystemReader& reader, int readings) {
  double sum = 0;
  for (int i = 0; i < readings; ++i) {
    std::this_thread::sleep_for(milliseconds(100));
    const SystemValues& values = reader.read();
    EXPECT_GE(values.user_cores, 0);
    EXPECT_GE(values.system_cores, 0);
    sum += values.user_cores + values.system_cores;
  }
  return sum / readings;
}

double read_cpu_seconds(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

[[noreturn]] void spin_for_cpu_seconds(double seconds) {
  while (read_cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) < seconds) {
  }
  ::_exit(0);
}

TEST(SystemReader, TheFirstReadingHasNoRates) {
  SystemReader reader(false);
  const SystemValues& values = reader.read();
  EXPECT_TRUE(std::isnan(values.user_cores));
  EXPECT_TRUE(std::isnan(values.minor_faults_per_s));
  EXPECT_TRUE(std::isnan(values.read_bytes_per_s));
  EXPECT_TRUE(std::isnan(values.busy_cores));
  EXPECT_TRUE(std::isnan(values.received_bytes_per_s));
  EXPECT_GT(values.resident_bytes, 0);
}

TEST(SystemReader, CpuUseIsWhatTheProcessClockSays) {
  std::atomic<bool> is_done{false};
  std::thread spinning([&] {
    while (!is_done.load(std::memory_order_relaxed)) {
    }
  });
  SystemReader reader(false);
  reader.read();
  const double cpu_begin = read_cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
  const double begin = read_cpu_seconds(CLOCK_MONOTONIC);
  const double cores = measure_cores(reader, 8);
  const double expected = (read_cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_begin) /
                          (read_cpu_seconds(CLOCK_MONOTONIC) - begin);
  is_done = true;
  spinning.join();
  EXPECT_NEAR(cores, expected, 0.25);
  EXPECT_GT(cores, 0.1) << "one thread was spinning all the time";
}

TEST(SystemReader, TheFirstThreadRunsOrWaits) {
  SystemReader reader(false);
  reader.read();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const SystemValues& asleep = reader.read();
  if (std::isnan(asleep.running)) GTEST_SKIP() << "no /proc/self/schedstat here";
  EXPECT_LT(asleep.running, 0.5);
  EXPECT_LT(asleep.queued, 0.5);
  const double end = read_cpu_seconds(CLOCK_MONOTONIC) + 0.2;
  while (read_cpu_seconds(CLOCK_MONOTONIC) < end) {
  }
  const SystemValues& spinning = reader.read();
  EXPECT_GT(spinning.running + spinning.queued, 0.5);
}

// 0.3 s of CPU time each, in children that live through some readings, whatever the machine's load.
TEST(SystemReader, TimeOfChildrenCountsOnceThoughTheyAreReaped) {
  SystemReader reader(false);
  reader.read();
  const double own_begin = read_cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
  double before = read_cpu_seconds(CLOCK_MONOTONIC);
  double cpu_seconds = 0;
  const auto add_reading = [&] {
    std::this_thread::sleep_for(milliseconds(50));
    const SystemValues& values = reader.read();
    const double now = read_cpu_seconds(CLOCK_MONOTONIC);
    cpu_seconds += (values.user_cores + values.system_cores) * (now - before);
    before = now;
  };
  for (int i = 0; i < 3; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) spin_for_cpu_seconds(0.3);
    while (::waitpid(child, nullptr, WNOHANG) == 0) add_reading();
  }
  for (int i = 0; i < 4; ++i) add_reading();
  const double own = read_cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - own_begin;
  EXPECT_NEAR(cpu_seconds - own, 0.9, 0.3);
}

TEST(SystemReader, ResidentMemoryIsThatOfStatm) {
  SystemReader reader(false);
  const double bytes = reader.read().own_resident_bytes;
  std::ifstream statm("/proc/self/statm");
  double size_pages = 0, resident_pages = 0;
  statm >> size_pages >> resident_pages;
  const double expected = resident_pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
  EXPECT_NEAR(bytes, expected, 0.2 * expected);
}

TEST(SystemReader, CoresAreBetween0And1AndTheirSumIsTheMachines) {
  SystemReader reader(false);
  reader.read();
  std::this_thread::sleep_for(milliseconds(300));
  const SystemValues& values = reader.read();
  ASSERT_FALSE(std::isnan(values.busy_cores));
  double sum = 0;
  for (const uint32_t core : reader.shown_cores()) {
    const double fraction = values.core_fractions[core];
    if (std::isnan(fraction)) continue;
    EXPECT_GE(fraction, 0);
    EXPECT_LE(fraction, 1);
    sum += fraction;
  }
  if (values.core_fractions.size() <= SystemReader::kMaxCores) {
    EXPECT_NEAR(sum, values.busy_cores, 0.3 + 0.1 * values.busy_cores);
  }
  EXPECT_GE(values.run_queue, 0);
}

TEST(CpuBudget, APartThatCostsTooMuchPausesUntilItIsMadeUpFor) {
  constexpr int64_t kReadingNs = 100'000'000;
  CpuBudget budget(0.001, 10'000'000'000);
  int runs = 0;
  for (int i = 0; i < 1000; ++i) {
    budget.pass(kReadingNs);
    if (!budget.is_left()) continue;
    ++runs;
    budget.spend(1'000'000);  // ten times what it may
  }
  EXPECT_NEAR(runs, 100, 5);
}

TEST(CpuBudget, NoPauseIsLongerThanItsLimit) {
  CpuBudget budget(0.001, 2'000'000'000);
  budget.spend(1'000'000'000);
  EXPECT_FALSE(budget.is_left());
  budget.pass(2'000'000'000);
  EXPECT_TRUE(budget.is_left());
}

TEST(SystemCounters, SampleWithoutARecordingDoesNothing) {
  Definitions definitions;
  SystemCounters counters(definitions);
  counters.sample();
  counters.sample();
}

}  // namespace
}  // namespace stepscope
