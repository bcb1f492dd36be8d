// TopSampling: a Sampler on a thread of its own. What it sees is handed over some times a second;
// whoever displays it takes it when it suits him, so that drawing never makes a tick late.
//
//   TopSampling sampling(options, duration_ns);
//   std::vector<Status> added = sampling.start(pids);     // one for each
//   TopBatch batch = sampling.take();
//   batch.tell(counts);
//   counts.end_span(std::move(batch.end));
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/status.h"
#include "cli/top_counts.h"
#include "collect/sample/sample_sink.h"
#include "collect/sample/sampler.h"

namespace stepscope::cli {

// What a sampler told, to be told again to another sink.
struct TopBatch {
  struct Process {
    uint32_t number;
    pid_t pid;
    std::string command_line;
  };
  struct Thread {
    uint32_t number;
    uint32_t process;
    int32_t tid;
    sample::ThreadName name;
  };
  struct Function {
    uint32_t number;
    std::string name;
    std::string file;
    int32_t first_line;
  };
  struct Stack {
    uint32_t number;
    uint32_t parent;
    uint32_t function;
    int32_t line;
  };

  std::vector<Process> processes;
  std::vector<Thread> threads;
  std::vector<Function> functions;
  std::vector<Stack> stacks;
  std::vector<sample::Sample> samples;
  std::vector<uint32_t> ended_processes;
  TopSpanEnd end;         // end_ns is 0 where nothing was handed over
  uint64_t left_out = 0;  // samples, since the start

  void tell(sample::SampleSink& sink) const;
  // Puts a later one behind this one.
  void append(TopBatch&& later);
};

class TopSampling : private sample::SampleSink {
 public:
  TopSampling(const sample::SamplerOptions& options, int64_t duration_ns)
      : options_(options), duration_ns_(duration_ns) {}
  TopSampling(const TopSampling&) = delete;
  TopSampling& operator=(const TopSampling&) = delete;
  ~TopSampling() override { stop(); }

  // Says of each process whether it can be sampled. Sampling begins where one can.
  std::vector<Status> start(const std::vector<pid_t>& pids);
  // What was handed over since the last call.
  TopBatch take();
  // All is handed over: the time is up, or nothing is left to look at.
  bool has_ended() const { return has_ended_; }
  void stop();
  int64_t start_ns() const { return start_ns_; }

 private:
  void add_process(uint32_t process, pid_t pid, const std::string& command_line) override;
  void add_thread(uint32_t thread, uint32_t process, int32_t tid,
                  const sample::ThreadName& name) override;
  void add_function(uint32_t function, std::string_view name, std::string_view file,
                    int32_t first_line) override;
  void add_stack(uint32_t stack, uint32_t parent, uint32_t function, int32_t line) override;
  void add_sample(const sample::Sample& sample) override;
  void end_process(uint32_t process) override;

  void run(const std::vector<pid_t>& pids, std::vector<Status>& added);
  void hand_over(sample::Sampler& sampler, int64_t now_ns);

  const sample::SamplerOptions options_;
  const int64_t duration_ns_;  // 0: without an end
  std::thread thread_;
  std::atomic<bool> must_stop_{false};
  std::atomic<bool> has_ended_{false};
  int64_t start_ns_ = 0;

  // Of the sampler's thread alone.
  struct LiveProcess {
    uint32_t number;
    pid_t pid;
  };
  std::vector<LiveProcess> live_;
  uint32_t threads_seen_ = 0;
  TopBatch batch_;
  uint64_t left_out_ = 0;

  std::mutex mutex_;
  std::condition_variable started_;
  bool is_started_ = false;  // each process was tried
  TopBatch handed_over_;
};

}  // namespace stepscope::cli
