// What samples say of each thread: how much of its time it was on the CPU, and how much it waited.
//
//   for (const SampledThread& thread : sampled_threads(trace, {})) use(thread.track,
//   thread.cpu_ns);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/slice_scope.h"
#include "trace/trace.h"

namespace stepscope {

struct SampledThread {
  TrackId track{};
  uint64_t samples = 0;
  int64_t wall_ns = 0;
  std::optional<int64_t> cpu_ns;      // where it is known
  std::optional<int64_t> waiting_ns;  // wall time of samples that waited, where that is known
  int64_t begin_ns = INT64_MAX;
  int64_t end_ns = INT64_MIN;
};

// Threads with samples, in order of their tracks.
std::vector<SampledThread> sampled_threads(const Trace& trace, const SliceScope& scope);

// "100 times a second: 9,876 samples of 3 threads, 12 of 10,000 ticks missed"; "" where the trace
// does not say how it was sampled.
std::string sampling_text(const Trace& trace);
// What a table of phases must say where they come from samples.
std::string phases_of_samples_note(const Trace& trace);

}  // namespace stepscope
