#include "base/tick_clock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <list>
#include <string>
#include <thread>

namespace stepscope {
namespace {

TEST(TickClock, NeverRunsBackOnOneThread) {
  uint64_t last = read_ticks();
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t now = read_ticks();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(TickClock, AgreesWithTheMonotonicClockOverAWhile) {
  const uint64_t rate = measure_ticks_per_second();
  const ClockReading first = read_clocks(rate);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const ClockReading last = read_clocks(rate);
  const double by_ticks =
      static_cast<double>(last.ticks - first.ticks) / static_cast<double>(rate) * 1e9;
  const auto by_clock = static_cast<double>(last.monotonic_ns - first.monotonic_ns);
  EXPECT_LT(std::abs(by_ticks - by_clock) / by_clock, 0.01);
}

TEST(TickClock, TellsWhatAReadTakes) {
  const double ns = measure_tick_read_ns(measure_ticks_per_second());
  EXPECT_GT(ns, 0.1);
  EXPECT_LT(ns, 100'000);
}

TEST(TickClock, SaysHowFarItsThreeReadingsMayBeApart) {
  const ClockReading reading = read_clocks(measure_ticks_per_second());
  EXPECT_GT(reading.error_ns, 0);
  EXPECT_LT(reading.error_ns, 1'000'000);
  EXPECT_GT(reading.realtime_ns, 1'600'000'000'000'000'000);
}

class Cpu : public testing::Test {
 protected:
  const char* write(const char* name, const std::string& text) {
    const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / name;
    std::ofstream(path) << text;
    return kept_.emplace_back(path.string()).c_str();
  }
  std::list<std::string> kept_;
};

TEST_F(Cpu, IsTrustedOnlyWithBothFlagsAndTheKernelsWord) {
  const char* good = write("good", "processor : 0\nflags : fpu constant_tsc nonstop_tsc sse\n");
  const char* stops = write("stops", "flags : fpu constant_tsc sse\n");
  const char* listed = write("listed", "tsc kvm-clock\n");
  const char* dropped = write("dropped", "hpet acpi_pm\n");
  EXPECT_TRUE(counter_runs_evenly(good, listed));
  EXPECT_TRUE(counter_runs_evenly(good, "/no/such/file"));
  EXPECT_FALSE(counter_runs_evenly(good, dropped));
  EXPECT_FALSE(counter_runs_evenly(stops, listed));
  EXPECT_FALSE(counter_runs_evenly("/no/such/file", listed));
}

}  // namespace
}  // namespace stepscope
