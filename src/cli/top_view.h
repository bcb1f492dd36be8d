// TopView: what `stepscope top` knows at a refresh. Made by TopCounts, drawn by draw_top(); a copy
// of it is what a paused display shows.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stepscope::cli {

// What a sample counts for.
enum class TopWeight : uint8_t {
  kCpu,   // the time in which its thread ran
  kWall,  // all time of all threads, waiting too
  kGil,   // the time in which its thread held the global interpreter lock
};
inline constexpr size_t kTopWeights = 3;

struct TopTimes {
  std::array<int64_t, kTopWeights> ns{};

  int64_t get(TopWeight weight) const { return ns[static_cast<size_t>(weight)]; }
  TopTimes& operator+=(const TopTimes& other) {
    for (size_t i = 0; i < kTopWeights; ++i) ns[i] += other.ns[i];
    return *this;
  }
  TopTimes& operator-=(const TopTimes& other) {
    for (size_t i = 0; i < kTopWeights; ++i) ns[i] -= other.ns[i];
    return *this;
  }
};

// Of a function: where it was innermost, and where it was on the stack at all.
struct TopCost {
  TopTimes own;
  TopTimes total;

  TopCost& operator+=(const TopCost& other) {
    own += other.own;
    total += other.total;
    return *this;
  }
  TopCost& operator-=(const TopCost& other) {
    own -= other.own;
    total -= other.total;
    return *this;
  }
};

// What all shares are of, and of how many samples they are made.
struct TopSum {
  TopTimes times;
  std::array<uint64_t, kTopWeights> samples{};
  int64_t wall_ns = 0;

  uint64_t get_samples(TopWeight weight) const { return samples[static_cast<size_t>(weight)]; }
};

struct TopFunction {
  std::string name;
  std::string file;
  int32_t first_line = 0;  // 0: none
  TopCost now;
  TopCost since_start;
};

struct TopThread {
  pid_t pid = 0;
  int32_t tid = 0;  // 0: not known
  std::string name;
  bool is_running = false;
  bool holds_gil = false;
  double cpu_fraction = 0;  // of a core, now
  double gil_fraction = 0;  // of the time, now
  // The innermost function of the last sample; "" where there was none.
  std::string function;
  std::string file;
  int32_t line = 0;
};

struct TopProcess {
  pid_t pid = 0;
  std::string command_line;
  std::string python;       // "3.11"; "" where it is not known
  double cpu_fraction = 0;  // of a core, now, with all its threads
  double gil_fraction = 0;
  size_t threads = 0;
  size_t running = 0;
  bool has_ended = false;
};

struct TopView {
  std::vector<TopProcess> processes;  // that live; where none does, the first one
  uint64_t ended_processes = 0;
  std::vector<TopThread> threads;
  std::vector<TopFunction> functions;  // those that were seen since the start, in no order
  TopSum now;
  TopSum since_start;
  int64_t period_ns = 0;
  uint64_t missed_ticks = 0;
  uint64_t torn = 0;      // stacks that could not be read
  uint64_t left_out = 0;  // samples that came faster than they could be counted
  std::vector<std::string> notes;
};

}  // namespace stepscope::cli
