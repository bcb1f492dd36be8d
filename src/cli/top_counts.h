// TopCounts: how samples share out among functions, threads and processes, over the last spans of
// time ("now") and since the start. A span is what lies between two refreshes.
//
//   TopCounts counts(/*spans_of_now=*/2, start_ns);
//   counts.add_sample(...);              // as a Sampler tells
//   counts.end_span({.end_ns = now_ns, .threads = sampler.threads(), ...});
//   TopView view = counts.build_view();
//
// A sample is kept by its stack until the span ends; then each stack is walked once. A function
// that is on a stack several times counts once. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/flat_map.h"
#include "cli/top_view.h"
#include "collect/sample/sample_sink.h"
#include "collect/sample/sampler.h"

namespace stepscope::cli {

// Of a process or a thread.
struct TopCpu {
  uint32_t number = 0;
  uint64_t cpu_ns = 0;  // of its whole life
};

// What a sampler knows beside samples, as of the end of a span.
struct TopSpanEnd {
  int64_t end_ns = 0;
  std::vector<sample::ThreadState> threads;
  std::vector<TopCpu> processes;
  // Of those that are new in the span, when they were first seen.
  std::vector<TopCpu> new_threads;
  std::vector<TopCpu> new_processes;
  sample::SamplerCounts counts;
};

class TopCounts : public sample::SampleSink {
 public:
  TopCounts(size_t spans_of_now, int64_t start_ns)
      : spans_of_now_(spans_of_now), span_start_ns_(start_ns) {}

  void add_process(uint32_t process, pid_t pid, const std::string& command_line) override;
  void add_thread(uint32_t thread, uint32_t process, int32_t tid,
                  const sample::ThreadName& name) override;
  void add_function(uint32_t function, std::string_view name, std::string_view file,
                    int32_t first_line) override;
  void add_stack(uint32_t stack, uint32_t parent, uint32_t function, int32_t line) override;
  void add_sample(const sample::Sample& sample) override;
  void end_process(uint32_t process) override;

  void end_span(TopSpanEnd end);
  // "Since the start" is from here on. What is now stays.
  void reset();

  TopView build_view() const;

 private:
  struct Clock {  // of a thread or a process
    uint64_t last_cpu_ns = 0;
    bool has_cpu = false;  // last_cpu_ns is known
    int64_t cpu_now_ns = 0;
    int64_t gil_now_ns = 0;
  };
  struct Process {
    pid_t pid = 0;
    std::string command_line;
    bool has_ended = false;
    Clock clock;
  };
  struct Thread {
    uint32_t process = 0;
    uint32_t last_stack = sample::kNoParent;
    int64_t last_sample_ns = 0;
    Clock clock;
  };
  struct Function {
    std::string name;
    std::string file;
    int32_t first_line = 0;
    TopCost now;
    TopCost since_start;
    uint64_t walked_at = 0;  // the last stack that it was met on
  };
  struct Stack {
    uint32_t parent;
    uint32_t function;
    int32_t line;
  };
  struct StackTimes {
    uint32_t stack;
    TopTimes times;
  };
  struct FunctionCost {
    uint32_t function;
    TopCost cost;
  };
  struct ClockTimes {
    uint32_t number;
    int64_t cpu_ns = 0;
    int64_t gil_ns = 0;
    int64_t sampled_cpu_ns = 0;
  };
  struct Span {
    TopSum sum;
    std::vector<FunctionCost> functions;
    std::vector<ClockTimes> threads;
    std::vector<ClockTimes> processes;
  };

  const Stack* find_stack(uint32_t stack) const;
  void share_out(const StackTimes& stack);
  FunctionCost& cost_of(uint32_t function);
  ClockTimes& times_of(std::vector<ClockTimes>& times, FlatMap& places, uint32_t number);
  static void begin_cpu(Clock& clock, uint64_t cpu_ns);
  void take_cpu(Clock& clock, ClockTimes& times, uint64_t cpu_ns);
  void add_to_now(const Span& span);
  void take_from_now(const Span& span);
  void view_processes(TopView& view) const;
  TopProcess view_of(const Process& process) const;
  TopThread view_of(const sample::ThreadState& state) const;

  const size_t spans_of_now_;
  int64_t span_start_ns_;
  std::vector<Process> processes_;
  std::vector<Thread> threads_;
  std::vector<Function> functions_;
  std::vector<Stack> stacks_;
  uint32_t first_stack_ = 0;  // the number of stacks_[0]: older ones are forgotten
  uint64_t walks_ = 0;

  Span span_;  // that has not ended
  std::vector<StackTimes> by_stack_;
  FlatMap stack_places_, function_places_, thread_places_, process_places_;  // into span_

  std::deque<Span> spans_;  // of "now"
  TopSum now_;
  TopSum since_start_;
  TopSpanEnd last_;
  sample::SamplerCounts counts_at_reset_;
};

}  // namespace stepscope::cli
