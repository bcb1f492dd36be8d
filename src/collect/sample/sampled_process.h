// SampledProcess: one target of a Sampler: its stacks, its threads' names and clocks. Each look
// gives a sample per thread; looks at a thread that has not run at all become one sample that is
// told when it runs again, or after a second.
//
//   auto target = SampledProcess::open(pid, shared);
//   if (!(*target)->look({now_ns, elapsed_ns, weight_ns})) ...   // ended, or another program now
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/flat_map.h"
#include "base/status.h"
#include "collect/sample/code_table.h"
#include "collect/sample/paused_look.h"
#include "collect/sample/python_process.h"
#include "collect/sample/remote_objects.h"
#include "collect/sample/running_samples.h"
#include "collect/sample/sampler.h"
#include "collect/sample/stack_numbers.h"
#include "collect/sample/stack_reader.h"
#include "collect/sample/thread_clock.h"
#include "collect/sample/thread_names.h"

namespace stepscope::sample {

// What all targets of a sampler share.
struct SamplerState {
  SamplerOptions options;
  SampleSink& sink;
  StackNumbers numbers;
  SamplerCounts counts;
  uint32_t processes = 0;  // told to the sink so far
  uint32_t threads = 0;
  size_t files_left = 0;  // that may be kept open
};

class SampledProcess {
 public:
  static Result<std::unique_ptr<SampledProcess>> open(pid_t pid, SamplerState& shared);
  SampledProcess(const SampledProcess&) = delete;
  ~SampledProcess();

  struct Moment {
    int64_t now_ns;
    int64_t elapsed_ns;  // since the look before
    int64_t weight_ns;   // that samples of this one stand for
  };

  pid_t pid() const { return python_.pid(); }
  // False where it can not be read any more.
  bool look(const Moment& moment);
  // Tells what is held back.
  void finish();
  // It has ended or is another program.
  bool is_there() const { return python_.is_there(); }
  void append_threads(std::vector<ThreadState>& states) const;

 private:
  struct Thread {
    explicit Thread(ThreadClock own_clock) : clock(std::move(own_clock)) {}

    ThreadClock clock;
    uint32_t number = 0;
    int32_t tid = 0;
    uint64_t pthread = 0;
    ThreadName name;
    bool keeps_files = false;
    bool is_running = false;
    bool holds_gil = false;
    uint64_t seen_at = 0;  // which look
    Sample held;           // of looks without running; count 0: none
    RunningSamples running;
    uint64_t released_cpu_ns = 0;  // what the clock said when `running` was released
    uint64_t released_queued_ns = 0;
  };

  SampledProcess(PythonProcess python, SamplerState& shared);

  bool read_while_it_runs(int64_t now_ns);
  PausedLook::Outcome read_while_it_stands_still(const Moment& moment);
  Thread& thread_of(const ThreadStack& stack);
  void take(const ThreadStack& stack, const Moment& moment);
  void hold(Thread& thread, const Sample& sample);
  void tell_held(Thread& thread);
  // Where the kernel's counts have moved, or must.
  void release_running(Thread& thread, bool must);
  // kNoParent: it has no frames.
  uint32_t number_of(const ThreadStack& stack);
  uint32_t place_of(const StackFrame& frame);
  uint32_t place_of(const NativeFrame& frame);
  void forget_ended();
  void refresh_names(int64_t now_ns);
  ThreadName name_of(int32_t tid, uint64_t pthread) const;

  PythonProcess python_;
  SamplerState& shared_;
  CodeTable codes_;
  StackReader reader_;
  RemoteObjects objects_;
  ThreadNames names_;
  std::unique_ptr<PausedLook> paused_;  // null: it is never stopped
  uint32_t process_ = 0;
  bool is_told_ = false;                         // to the sink
  std::unordered_map<int32_t, Thread> threads_;  // by tid
  std::vector<ThreadStack> stacks_;              // of the last look
  FlatMap places_;                               // by code and instruction
  std::vector<uint32_t> functions_;              // by code
  std::vector<uint32_t> native_places_;          // by native function
  std::vector<MergedFrame> merged_;              // of one thread
  uint64_t looks_ = 0;
  uint64_t retries_before_ = 0;
  int64_t next_names_ns_ = 0;
};

}  // namespace stepscope::sample
