// Sampler: looks at Python programs again and again and tells a SampleSink what their threads do.
// Targets are processes that run already; their children join where that is wanted, and all of them
// may end, fork or exec at any moment.
//
//   Sampler sampler({.period_ns = 10'000'000}, sink);
//   if (Status status = sampler.add(pid); !status) ...
//   sampler.run(duration_ns, should_stop);       // or tick() by tick(), on one thread
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "collect/sample/native_unwinder.h"
#include "collect/sample/sample_sink.h"

namespace stepscope::sample {

struct SamplerOptions {
  int64_t period_ns = 10'000'000;
  bool with_children = false;  // of the targets, and theirs
  bool only_with_gil = false;  // threads that hold the GIL
  bool pause = false;          // stop the target for each look
  bool native = false;         // with C frames; stops the target for each look
  bool is_inside = false;      // the target is this process itself
  bool beside_calls = false;   // which are recorded: samples tell the lines in them
  // What `native` needs: collect/native/native_stack.h has one.
  MakeNativeUnwinder make_unwinder = nullptr;
};

struct SamplerCounts {
  uint64_t ticks = 0;         // looks
  uint64_t missed_ticks = 0;  // that should have been
  uint64_t samples = 0;       // of threads
  uint64_t torn = 0;          // threads that could not be read at a tick
  uint64_t retries = 0;       // copies that had to be taken again
};

// Of one thread, as of the last tick: for live displays.
struct ThreadState {
  uint32_t thread = 0;  // as told to the sink
  uint32_t process = 0;
  int32_t tid = 0;
  std::string name;
  bool is_running = false;
  bool holds_gil = false;
  uint64_t cpu_ns = 0;  // of its whole life
};

class Sampler {
 public:
  Sampler(const SamplerOptions& options, SampleSink& sink);
  ~Sampler();

  // Fails where the process is no Python program that can be read, or, where that is wanted, that
  // can be stopped.
  Status add(pid_t pid);
  // One look at all targets.
  void tick();
  // Ticks at even distances until the time is over (0: never), `should_stop`, or all targets have
  // ended. Ticks that come too late are counted as missed, not made up for.
  void run(int64_t duration_ns, const std::function<bool()>& should_stop);
  // Tells what is held back. Called by the destructor too.
  void finish();

  bool has_targets() const;
  const SamplerCounts& counts() const;
  std::vector<ThreadState> threads() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stepscope::sample
