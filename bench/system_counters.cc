// CPU time that the system counters take per sample, at their real pace of ten a second, with some
// idle children around:
//
//   system_counters [samples = 100] [children = 4]
//
// "within budget" is what the recorder does; "every part" reads everything each time.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "base/tick_clock.h"
#include "collect/recorder/definitions.h"
#include "collect/system/system_counters.h"
#include "collect/system/system_reader.h"

namespace {

using stepscope::read_clock_ns;

constexpr double kLimitUs = 100;  // 0.1 % of a core

template <typename Sample>
void measure(const char* what, int samples, Sample sample) {
  sample();  // the baseline
  int64_t cpu_ns = 0;
  for (int i = 0; i < samples; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const int64_t begin_ns = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    sample();
    cpu_ns += read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
  }
  const double us = static_cast<double>(cpu_ns) / 1e3 / samples;
  std::printf("%-14s %7.1f us CPU per sample, %.3f %% of a core at 10 Hz, %.2f x the limit\n", what,
              us, us / 1000, us / kLimitUs);
}

}  // namespace

int main(int argc, char** argv) {
  const int samples = argc > 1 ? std::atoi(argv[1]) : 100;
  const int children = argc > 2 ? std::atoi(argv[2]) : 4;
  std::vector<pid_t> pids;
  for (int i = 0; i < children; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::pause();
      ::_exit(0);
    }
    if (pid > 0) pids.push_back(pid);
  }
  stepscope::Definitions definitions;
  stepscope::SystemCounters counters(definitions);
  measure("within budget", samples, [&] { counters.sample(); });
  stepscope::SystemReader reader(false);
  measure("every part", samples, [&] { reader.read(); });
  for (const pid_t pid : pids) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
}
