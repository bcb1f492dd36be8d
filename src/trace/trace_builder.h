// TraceBuilder: the only way to make a Trace. Events may come in any order and with faults;
// finish() sorts, nests, binds and counts what it had to mend. One thread at a time.
//
//   TraceBuilder builder;
//   TrackId thread = builder.add_thread(ForeignId{1}, ForeignId{7});
//   LabelId conv = builder.label("aten::conv2d", "cpu_op", SliceKind::kOperator);
//   SliceRef slice = builder.add_slice(thread, 1000, 250, conv);
//   builder.add_int(builder.arg_column("External id", ArgType::kInt), slice, 17);
//   Trace trace = std::move(builder).finish();
//
// A SliceRef names a slice while building; its SliceId is known only after finish().
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/sort_by_value.h"
#include "trace/trace.h"

namespace stepscope {

enum class SliceRef : uint32_t {};
inline constexpr SliceRef kNoSliceRef{UINT32_MAX};
enum class ArgColumnRef : uint32_t {};
enum class FlowPhase : uint8_t { kStart, kStep, kEnd };

class TraceBuilder {
 public:
  static constexpr uint32_t kMaxSlices = UINT32_MAX - 1;
  // Times beyond these are brought back to them, so that begin + duration always fits.
  static constexpr int64_t kMaxTimeNs = int64_t{1} << 61;
  static constexpr int64_t kMaxDurNs = int64_t{1} << 55;

  TraceBuilder();
  ~TraceBuilder();
  TraceBuilder(TraceBuilder&&) noexcept;
  TraceBuilder(const TraceBuilder&) = delete;

  // Strings, labels, and what the trace says of itself.
  StringPool& strings() { return data_.strings; }
  const StringPool& strings() const { return data_.strings; }
  StringId string(std::string_view text) { return data_.strings.intern(text); }
  LabelId label(std::string_view name, std::string_view category, SliceKind kind);
  LabelTable& labels() { return data_.labels; }
  const LabelTable& labels() const { return data_.labels; }
  Stats& stats() { return data_.stats; }
  void add_metadata(std::string_view key, std::string_view value, bool is_json);
  bool has_metadata(std::string_view key) const;
  void add_device(const Device& device) { data_.devices.push_back(device); }
  std::span<const Device> devices() const { return data_.devices; }
  void set_source(std::string source) { data_.source = std::move(source); }
  void set_format(std::string format) { data_.format = std::move(format); }
  void set_clock_base_ns(int64_t ns) { data_.clock_base_ns = ns; }

  // Processes and tracks: the same ids give the same track. References stay valid until the next
  // add.
  uint32_t add_process(ForeignId pid);
  uint32_t add_new_process(ForeignId pid);  // always a new one: a pid is used again, or by exec
  Process& process(uint32_t process) { return data_.processes[process]; }
  std::span<const Process> processes() const { return data_.processes; }
  TrackId add_thread(ForeignId pid, ForeignId tid);
  TrackId add_counter(ForeignId pid, StringId name, StringId series);
  TrackId add_track(const Track& track);  // always a new one
  Track& track(TrackId track) { return data_.tracks[index(track)]; }
  std::span<const Track> tracks() const { return data_.tracks; }

  // Slices. A negative duration becomes 0 and is counted.
  SliceRef add_slice(TrackId track, int64_t start_ns, int64_t dur_ns, LabelId label);
  // Takes the memory for so many slices or arrows at once: not for numbers that a file only claims.
  void reserve_slices(size_t count);
  // Appends slices of one track, best in order already (by start, longer first): then they stay
  // where they are. Rows of long_dur_ns count from the first of these slices.
  SliceRef add_slices(TrackId track, std::span<const int64_t> start_ns,
                      std::span<const uint32_t> short_dur_ns,
                      std::span<const std::pair<uint32_t, int64_t>> long_dur_ns,
                      std::span<const LabelId> label);
  // A begin and an end that are matched in finish(), by time and nesting. Where has_args, end_slice
  // gives a ref under which more arguments can be added to the slice that it closes.
  SliceRef begin_slice(TrackId track, int64_t start_ns, LabelId label);
  SliceRef end_slice(TrackId track, int64_t end_ns, bool has_args);
  // For slices whose lane is known late (asynchronous operations).
  void set_track(SliceRef slice, TrackId track) { slice_track_[index(slice)] = track; }
  int64_t start_ns(SliceRef slice) const { return data_.slices.start_ns[index(slice)]; }
  int64_t dur_ns(SliceRef slice) const { return data_.slices.dur_ns[index(slice)]; }
  void set_dur_ns(SliceRef slice, int64_t dur_ns);
  uint32_t slice_count() const { return data_.slices.size(); }

  // Arguments. The last value wins where a slice is given the same argument twice.
  ArgColumnRef arg_column(std::string_view key, ArgType type) {
    return arg_column(string(key), type);
  }
  ArgColumnRef arg_column(StringId key, ArgType type);
  void add_int(ArgColumnRef column, SliceRef slice, int64_t value);  // kInt, kBool
  void add_double(ArgColumnRef column, SliceRef slice, double value);
  void add_string(ArgColumnRef column, SliceRef slice, StringId value);  // kString, kJson
  // For appending many values at once. `rows` are SliceRefs until finish(); as many values as rows.
  ArgColumn& arg_values(ArgColumnRef column) { return data_.args[index(column)]; }

  void add_counter_value(TrackId counter, int64_t time_ns, double value);
  // A point of an arrow: it belongs to the slice that is open on the track at that time, or, where
  // binds_next, to the next one that starts. Points of one key make a chain in order of time.
  void add_flow_point(TrackId track, int64_t time_ns, FlowPhase phase, bool binds_next,
                      uint64_t key, uint64_t id, LabelId label);
  // An arrow between slices that are known already.
  void add_flow(SliceRef from, SliceRef to, int64_t from_ns, int64_t to_ns, uint64_t id,
                LabelId label);

  void reserve_flows(size_t count);

  FrameId add_frame(const Frame& frame);     // the same frame gives the same id
  StackId add_stack(const StackNode& node);  // the same node gives the same id
  // A negative CPU time is an unknown one; a count below 1 is 1.
  void add_sample(TrackId track, int64_t time_ns, StackId stack, int64_t weight_ns,
                  int64_t cpu_ns = kNoCpuNs, uint8_t flags = 0, int64_t count = 1);
  void add_call_edge(FrameId caller, FrameId callee, uint64_t calls, uint64_t primitive_calls,
                     int64_t self_ns, int64_t total_ns);

  struct Allocation {
    int64_t time_ns = 0;
    uint64_t address = 0;
    int64_t bytes = 0;  // < 0: given back
    int16_t device_type = 0;
    int16_t device_id = -1;
    int64_t total_allocated_bytes = -1;
    int64_t total_reserved_bytes = -1;
  };
  void add_allocation(TrackId track, const Allocation& allocation);

  Trace finish() &&;

 private:
  struct BeginEnd {
    int64_t time_ns;
    SliceRef slice;  // of the begin; of the end's ghost, a row that only carries arguments
    bool is_end;
  };
  struct FlowPoint {
    uint64_t key;
    uint64_t id;
    int64_t time_ns;
    TrackId track;
    LabelId label;
    FlowPhase phase;
    bool binds_next;
  };
  struct StackNodeHash {
    size_t operator()(const StackNode& node) const;
  };
  struct DirectFlow {
    SliceRef from, to;
    int64_t from_ns, to_ns;
    uint64_t id;
    LabelId label;
  };

  void match_begins_and_ends();
  void sort_slices();
  void nest_slices();
  void finish_args();
  void finish_counters();
  void bind_flows();
  std::vector<SortKey> order_flow_points() const;
  void sort_flows();
  void bind_allocations();
  void find_time_range();
  bool slices_are_in_order() const;
  std::vector<uint32_t> build_order();

  TraceData data_;
  std::vector<TrackId> slice_track_;
  std::vector<SliceId> final_row_;                 // by SliceRef; empty: the rows kept their places
  std::vector<std::vector<BeginEnd>> begin_ends_;  // by track
  std::vector<std::pair<SliceRef, SliceRef>> ghosts_;  // an end's ref and the slice it closed
  std::unordered_map<uint64_t, ArgColumnRef> arg_columns_;
  std::unordered_map<uint32_t, uint32_t> metadata_by_key_;
  std::unordered_map<uint64_t, std::vector<uint32_t>> processes_by_key_;
  std::unordered_map<uint64_t, std::vector<TrackId>> tracks_by_key_;
  std::vector<TrackId> counter_track_;  // by counter value
  std::vector<FlowPoint> flow_points_;
  std::vector<DirectFlow> direct_flows_;
  std::unordered_map<uint64_t, std::vector<FrameId>> frames_by_key_;
  std::unordered_map<StackNode, StackId, StackNodeHash> stacks_by_node_;
};

}  // namespace stepscope
