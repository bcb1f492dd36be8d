#include "analyze/sampled_threads.h"

#include "analyze/json_field.h"
#include "analyze/text_value.h"
#include "base/saturating.h"
#include "format/recording_metadata.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace stepscope {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

std::string count_text(uint64_t count) {
  return text_of_count(static_cast<int64_t>(std::min<uint64_t>(count, INT64_MAX)));
}

int64_t period_ns_of(const Trace& trace) {
  const auto text = find_json_field(trace.find_metadata(format::kSamplingKey), "$.period_ns");
  int64_t ns = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), ns);
  return std::max<int64_t>(0, ns);
}

}  // namespace

std::vector<SampledThread> sampled_threads(const Trace& trace, const SliceScope& scope) {
  const SampleColumns& samples = trace.samples();
  const bool has_cpu = !samples.cpu_ns.empty();
  const bool has_flags = !samples.flags.empty();
  std::vector<SampledThread> threads(trace.tracks().size());
  for (size_t i = 0; i < samples.size(); ++i) {
    if (index(samples.track[i]) >= threads.size()) continue;
    if (!scope.takes_track(samples.track[i]) || !scope.takes_time(samples.time_ns[i])) continue;
    SampledThread& thread = threads[index(samples.track[i])];
    thread.samples += samples.get_count(i);
    const int64_t wall_ns = std::max<int64_t>(0, samples.weight_ns[i]);
    thread.wall_ns = add_saturating(thread.wall_ns, wall_ns);
    if (has_cpu) {
      const int64_t cpu_ns = std::max<int64_t>(0, samples.cpu_ns[i]);
      thread.cpu_ns = add_saturating(thread.cpu_ns.value_or(0), cpu_ns);
    }
    if (has_flags) {
      const bool waited = (samples.flags[i] & kSampleWaited) != 0;
      thread.waiting_ns = add_saturating(thread.waiting_ns.value_or(0), waited ? wall_ns : 0);
    }
    thread.begin_ns = std::min(thread.begin_ns, samples.time_ns[i]);
    thread.end_ns = std::max(thread.end_ns, add_saturating(samples.time_ns[i], wall_ns));
  }
  for (uint32_t i = 0; i < threads.size(); ++i) threads[i].track = TrackId{i};
  std::erase_if(threads, [](const SampledThread& thread) { return thread.samples == 0; });
  return threads;
}

std::string sampling_text(const Trace& trace) {
  const int64_t period_ns = period_ns_of(trace);
  const uint64_t ticks = trace.stats().get(Stat::kSamplerTicks);
  if (period_ns == 0 && ticks == 0) return "";
  uint64_t samples = 0;
  const std::vector<SampledThread> threads = sampled_threads(trace, {});
  for (const SampledThread& thread : threads) samples += thread.samples;
  std::string text;
  if (period_ns > 0) {
    const double per_second = static_cast<double>(kSecondNs) / static_cast<double>(period_ns);
    text = (per_second >= 1 ? count_text(static_cast<uint64_t>(std::llround(per_second)))
                            : text_of_double(per_second)) +
           " times a second: ";
  }
  text += count_text(samples) + (samples == 1 ? " sample" : " samples") + " of " +
          count_text(threads.size()) + (threads.size() == 1 ? " thread" : " threads");
  if (ticks == 0) return text;
  const uint64_t missed = trace.stats().get(Stat::kTicksMissed);
  return text + ", " + (missed == 0 ? "none" : count_text(missed)) + " of " +
         count_text(std::max(ticks, missed)) + " ticks missed";
}

std::string phases_of_samples_note(const Trace& trace) {
  const std::string how = sampling_text(trace);
  return "input, backward and optimizer are recorded; forward, host and idle are estimated from "
         "samples" +
         (how.empty() ? "" : ", " + how);
}

}  // namespace stepscope
