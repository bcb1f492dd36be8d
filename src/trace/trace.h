// Trace: the loaded, immutable, columnar model of a run or of one foreign file. Everything that
// comes in becomes one (through TraceBuilder, the only way to make it); everything that goes out
// comes from one. After it is built it may be read by any number of threads.
//
//   Result<Trace> trace = ingest::load("trace.json.gz", {});
//   const SliceColumns& slices = trace->slices();
//   for (const Track& track : trace->tracks())
//     for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row)
//       total_ns += slices.dur_ns[row];
//
// Times are ns on the trace's own clock; clock_base_ns() + time is ns since 1970 where it is not 0.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/columns.h"
#include "trace/derived.h"
#include "trace/ids.h"
#include "trace/label.h"
#include "trace/stats.h"
#include "trace/string_pool.h"
#include "trace/track.h"

namespace stepscope {

// A device that the file describes (Kineto's deviceProperties). 0 where a figure is unknown.
struct Device {
  int64_t id = 0;
  StringId name = kEmptyString;
  int64_t total_memory_bytes = 0;
  int64_t compute_major = 0;
  int64_t compute_minor = 0;
  int64_t sm_count = 0;
  int64_t warp_size = 0;
  int64_t max_threads_per_block = 0;
  int64_t max_threads_per_sm = 0;
  int64_t registers_per_block = 0;
  int64_t registers_per_sm = 0;
  int64_t shared_memory_per_block = 0;
  int64_t shared_memory_per_sm = 0;
};

struct MetadataEntry {
  StringId key = kEmptyString;
  StringId value = kEmptyString;  // JSON text where is_json, else the text itself
  bool is_json = false;
};

// All that a trace holds, as TraceBuilder fills it.
struct TraceData {
  StringPool strings;
  LabelTable labels;
  std::vector<Process> processes;
  std::vector<Track> tracks;
  SliceColumns slices;
  std::vector<ArgColumn> args;
  CounterColumns counters;
  FlowColumns flows;
  std::vector<Frame> frames;
  std::vector<StackNode> stacks;
  SampleColumns samples;
  SampleColumns line_samples;  // those with kSampleBesideCalls
  CallEdgeColumns call_edges;
  AllocationColumns allocations;
  std::vector<Device> devices;
  std::vector<MetadataEntry> metadata;
  Stats stats;
  std::string source;  // the path it was loaded from
  std::string format;  // "Chrome JSON", "Kineto JSON", "sscope", …
  int64_t clock_base_ns = 0;
  int64_t begin_ns = 0;  // of the earliest and latest moment in it
  int64_t end_ns = 0;
};

// The format of what was recorded here, and of nothing that was converted.
inline constexpr std::string_view kRecordingFormat = "sscope";

class Trace {
 public:
  Trace(Trace&&) = default;
  Trace& operator=(Trace&&) = default;
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  const StringPool& strings() const { return data_.strings; }
  std::string_view string(StringId id) const { return data_.strings.view(id); }
  const LabelTable& labels() const { return data_.labels; }
  std::span<const Process> processes() const { return data_.processes; }
  std::span<const Track> tracks() const { return data_.tracks; }
  const SliceColumns& slices() const { return data_.slices; }
  std::span<const ArgColumn> args() const { return data_.args; }
  const CounterColumns& counters() const { return data_.counters; }
  const FlowColumns& flows() const { return data_.flows; }
  std::span<const Frame> frames() const { return data_.frames; }
  std::span<const StackNode> stacks() const { return data_.stacks; }
  const SampleColumns& samples() const { return data_.samples; }
  // Taken of threads whose calls were recorded as well: only the lines are news.
  const SampleColumns& line_samples() const { return data_.line_samples; }
  const CallEdgeColumns& call_edges() const { return data_.call_edges; }
  const AllocationColumns& allocations() const { return data_.allocations; }
  std::span<const Device> devices() const { return data_.devices; }
  std::span<const MetadataEntry> metadata() const { return data_.metadata; }
  const Stats& stats() const { return data_.stats; }
  const std::string& source() const { return data_.source; }
  const std::string& format() const { return data_.format; }
  int64_t clock_base_ns() const { return data_.clock_base_ns; }
  int64_t begin_ns() const { return data_.begin_ns; }
  int64_t end_ns() const { return data_.end_ns; }

  // An id as the file has it: its text, else its number.
  std::string id_text(const ForeignId& id) const {
    return id.text != kEmptyString ? std::string(string(id.text)) : std::to_string(id.number);
  }
  std::string_view slice_name(SliceId id) const {
    return string(data_.labels[data_.slices.label[index(id)]].name);
  }
  TrackId find_track_of(SliceId id) const;  // O(log tracks)
  // The column of an argument, or null where no slice has it.
  const ArgColumn* find_args(std::string_view key, ArgType type) const;
  std::string_view find_metadata(std::string_view key) const;  // "" where there is none
  // Before anyone else has the trace: what it is to say of itself, in place of what it says.
  void set_metadata(std::string_view key, std::string_view json);
  // What analyses keep with the trace.
  Derived& derived() const { return *derived_; }

 private:
  friend class TraceBuilder;
  explicit Trace(TraceData data) : data_(std::move(data)) {}

  TraceData data_;
  std::unique_ptr<Derived> derived_ = std::make_unique<Derived>();
};

}  // namespace stepscope
