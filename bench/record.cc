// What a record costs: on the recording thread, and on the drain. Prints one line of JSON.
//
//   record [threads] [millions of pairs] [folder]
//
// CPU time of each recording thread is taken by its own clock, so that a busy machine and the drain
// do not count; the drain's is that of the process less the threads'.
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/tick_clock.h"
#include "collect/stepscope/record.h"

namespace {

double cpu_ns(clockid_t clock) { return static_cast<double>(stepscope::read_clock_ns(clock)); }

// Measures `body` on `threads` threads; the result is ns of CPU time per call and thread.
template <typename Body>
double measure(int threads, uint64_t calls, Body body) {
  std::vector<double> spent(static_cast<size_t>(threads));
  std::vector<std::thread> workers;
  for (size_t i = 0; i < spent.size(); ++i) {
    workers.emplace_back([&, i] {
      body(calls / 10);  // steady state: chunks go round, pages are there
      const double before = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
      body(calls);
      spent[i] = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - before;
    });
  }
  for (std::thread& worker : workers) worker.join();
  double sum = 0;
  for (const double ns : spent) sum += ns;
  return sum / static_cast<double>(threads) / static_cast<double>(calls);
}

uint64_t bytes_of(const std::string& folder) {
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) bytes += entry.file_size();
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  const uint64_t pairs = static_cast<uint64_t>(argc > 2 ? std::atoi(argv[2]) : 20) * 1'000'000;
  const std::string folder = argc > 3 ? argv[3] : "build/bench/recording";
  std::filesystem::remove_all(folder);

  const double empty = measure(threads, pairs, [](uint64_t calls) {
    for (uint64_t i = 0; i < calls; ++i) asm volatile("" ::: "memory");
  });
  const double clock = measure(threads, pairs, [](uint64_t calls) {
    for (uint64_t i = 0; i < calls; ++i) {
      const uint64_t ticks = stepscope::read_ticks();
      asm volatile("" ::"r"(ticks) : "memory");
    }
  });

  const StepscopeRecordTable* table = stepscope_record_table(STEPSCOPE_RECORD_VERSION);
  char message[512] = "";
  StepscopeRecordOptions options{};
  options.bytes = sizeof(options);
  options.no_counters = 1;
  if (table->start(folder.c_str(), &options, message, sizeof(message)) != 0) {
    std::fprintf(stderr, "record: %s\n", message);
    return 1;
  }
  uint32_t labels[64];
  for (int i = 0; i < 64; ++i) {
    const std::string name = "function_" + std::to_string(i);
    labels[i] = table->intern(name.data(), name.size(), "", 0, 5);
  }
  const double process_before = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
  const double pair = measure(threads, pairs, [&](uint64_t calls) {
    for (uint64_t i = 0; i < calls; ++i) {
      const uint32_t label = labels[i * i / 3 % 64];
      table->begin(label);
      table->end(label);
    }
  });
  table->stop(message, sizeof(message));
  const double records = static_cast<double>(pairs) * 2.2 * threads;  // with the warm-up
  const double process = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - process_before;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "{\"threads\": %d, \"pairs\": %llu, \"empty_ns\": %.2f, \"clock_ns\": %.2f, \"pair_ns\": "
      "%.2f, "
      "\"record_ns\": %.2f, \"drain_ns_per_record\": %.2f, \"bytes_per_record\": %.2f, "
      "\"peak_rss_bytes\": %llu}\n",
      threads, static_cast<unsigned long long>(pairs), empty, clock - empty, pair - empty,
      (pair - empty) / 2, process / records - pair / 2,
      static_cast<double>(bytes_of(folder)) / records,
      static_cast<unsigned long long>(usage.ru_maxrss) * 1024);
  return 0;
}
