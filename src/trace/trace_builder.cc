// What is added to a trace, before finish(). See trace_finish.cc for the rest.
#include "trace/trace_builder.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "trace/prefault.h"

namespace stepscope {
namespace {

uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t key = a * 0x9E3779B97F4A7C15ull ^ (b + 0x632BE59BD9B4E019ull + (a << 6));
  key ^= key >> 31;
  return key * 0xD6E8FEB86659FD93ull;
}

uint64_t key_of(const ForeignId& id) {
  return mix(static_cast<uint64_t>(id.number), index(id.text));
}

}  // namespace

TraceBuilder::TraceBuilder() = default;
TraceBuilder::~TraceBuilder() = default;
TraceBuilder::TraceBuilder(TraceBuilder&&) noexcept = default;

LabelId TraceBuilder::label(std::string_view name, std::string_view category, SliceKind kind) {
  return data_.labels.intern({string(name), string(category), kind});
}

void TraceBuilder::add_metadata(std::string_view key, std::string_view value, bool is_json) {
  const StringId key_id = string(key);
  const auto [it, is_new] =
      metadata_by_key_.try_emplace(index(key_id), static_cast<uint32_t>(data_.metadata.size()));
  if (is_new) data_.metadata.emplace_back();
  data_.metadata[it->second] = {key_id, string(value), is_json};
}

bool TraceBuilder::has_metadata(std::string_view key) const {
  const auto id = data_.strings.find(key);
  return id && metadata_by_key_.contains(index(*id));
}

uint32_t TraceBuilder::add_process(ForeignId pid) {
  std::vector<uint32_t>& candidates = processes_by_key_[key_of(pid)];
  for (const uint32_t at : candidates) {
    if (data_.processes[at].pid == pid) return at;
  }
  const uint32_t at = add_new_process(pid);
  candidates.push_back(at);
  return at;
}

uint32_t TraceBuilder::add_new_process(ForeignId pid) {
  Process process;
  process.pid = pid;
  data_.processes.push_back(process);
  return static_cast<uint32_t>(data_.processes.size() - 1);
}

TrackId TraceBuilder::add_thread(ForeignId pid, ForeignId tid) {
  const uint32_t process = add_process(pid);
  std::vector<TrackId>& candidates = tracks_by_key_[mix(key_of(tid), process)];
  for (const TrackId at : candidates) {
    const Track& track = data_.tracks[index(at)];
    const bool is_lane = track.kind == TrackKind::kThread || track.kind == TrackKind::kStream;
    if (is_lane && track.process == process && track.tid == tid) return at;
  }
  Track track;
  track.process = process;
  track.tid = tid;
  const TrackId at = add_track(track);
  candidates.push_back(at);
  return at;
}

TrackId TraceBuilder::add_counter(ForeignId pid, StringId name, StringId series) {
  const uint32_t process = add_process(pid);
  std::vector<TrackId>& candidates =
      tracks_by_key_[mix(mix(index(name), index(series)), process) + 1];
  for (const TrackId at : candidates) {
    const Track& track = data_.tracks[index(at)];
    if (track.kind == TrackKind::kCounter && track.process == process && track.name == name &&
        track.series == series) {
      return at;
    }
  }
  Track track;
  track.kind = TrackKind::kCounter;
  track.process = process;
  track.name = name;
  track.series = series;
  const TrackId at = add_track(track);
  candidates.push_back(at);
  return at;
}

TrackId TraceBuilder::add_track(const Track& track) {
  CHECK(data_.tracks.size() < UINT32_MAX - 1, "more tracks than 32 bits can count");
  data_.tracks.push_back(track);
  begin_ends_.emplace_back();
  return TrackId{static_cast<uint32_t>(data_.tracks.size() - 1)};
}

SliceRef TraceBuilder::add_slice(TrackId track, int64_t start_ns, int64_t dur_ns, LabelId label) {
  CHECK(data_.slices.size() < kMaxSlices, "more slices than 32 bits can count");
  if (dur_ns < 0) {
    data_.stats.add(Stat::kDurationsNegative);
    dur_ns = 0;
  }
  data_.slices.start_ns.push_back(std::clamp(start_ns, -kMaxTimeNs, kMaxTimeNs));
  data_.slices.dur_ns.push_back(std::min(dur_ns, kMaxDurNs));
  data_.slices.label.push_back(label);
  slice_track_.push_back(track);
  return SliceRef{static_cast<uint32_t>(slice_track_.size() - 1)};
}

void TraceBuilder::reserve_slices(size_t count) {
  reserve_to_fill(data_.slices.start_ns, count);
  data_.slices.dur_ns.reserve_to_fill(count);
  reserve_to_fill(data_.slices.label, count);
  reserve_to_fill(slice_track_, count);
}

void TraceBuilder::reserve_flows(size_t count) { reserve_to_fill(direct_flows_, count); }

SliceRef TraceBuilder::add_slices(TrackId track, std::span<const int64_t> start_ns,
                                  std::span<const uint32_t> short_dur_ns,
                                  std::span<const std::pair<uint32_t, int64_t>> long_dur_ns,
                                  std::span<const LabelId> label) {
  CHECK(start_ns.size() == short_dur_ns.size() && start_ns.size() == label.size(),
        "columns of one length");
  CHECK(data_.slices.size() + start_ns.size() < kMaxSlices, "more slices than 32 bits can count");
  const SliceRef first{data_.slices.size()};
  std::vector<int64_t>& starts = data_.slices.start_ns;
  starts.insert(starts.end(), start_ns.begin(), start_ns.end());
  for (int64_t& ns : std::span(starts).last(start_ns.size())) {
    ns = std::clamp(ns, -kMaxTimeNs, kMaxTimeNs);
  }
  data_.slices.dur_ns.append(short_dur_ns, {});
  for (const auto& [row, dur_ns] : long_dur_ns) {
    CHECK(row < start_ns.size(), "a long duration belongs to one of the slices");
    set_dur_ns(SliceRef{index(first) + row}, dur_ns);
  }
  data_.slices.label.insert(data_.slices.label.end(), label.begin(), label.end());
  slice_track_.insert(slice_track_.end(), start_ns.size(), track);
  return first;
}

void TraceBuilder::set_dur_ns(SliceRef slice, int64_t dur_ns) {
  if (dur_ns < 0) {
    data_.stats.add(Stat::kDurationsNegative);
    dur_ns = 0;
  }
  data_.slices.dur_ns.set(index(slice), std::min(dur_ns, kMaxDurNs));
}

SliceRef TraceBuilder::begin_slice(TrackId track, int64_t start_ns, LabelId label) {
  const SliceRef slice = add_slice(track, start_ns, 0, label);
  begin_ends_[index(track)].push_back({this->start_ns(slice), slice, false});
  return slice;
}

SliceRef TraceBuilder::end_slice(TrackId track, int64_t end_ns, bool has_args) {
  const SliceRef ghost = has_args ? add_slice(track, end_ns, 0, LabelId{0}) : kNoSliceRef;
  if (has_args) ghosts_.emplace_back(ghost, kNoSliceRef);
  begin_ends_[index(track)].push_back({std::clamp(end_ns, -kMaxTimeNs, kMaxTimeNs), ghost, true});
  return ghost;
}

ArgColumnRef TraceBuilder::arg_column(StringId key, ArgType type) {
  const uint64_t map_key = uint64_t{index(key)} << 8 | static_cast<uint8_t>(type);
  const auto [it, is_new] =
      arg_columns_.try_emplace(map_key, ArgColumnRef{static_cast<uint32_t>(data_.args.size())});
  if (is_new) {
    ArgColumn column;
    column.key = key;
    column.type = type;
    data_.args.push_back(std::move(column));
  }
  return it->second;
}

// Until finish() the rows of an argument's column are SliceRefs.
void TraceBuilder::add_int(ArgColumnRef column, SliceRef slice, int64_t value) {
  data_.args[index(column)].rows.push_back(SliceId{index(slice)});
  data_.args[index(column)].ints.push_back(value);
}

void TraceBuilder::add_double(ArgColumnRef column, SliceRef slice, double value) {
  data_.args[index(column)].rows.push_back(SliceId{index(slice)});
  data_.args[index(column)].doubles.push_back(value);
}

void TraceBuilder::add_string(ArgColumnRef column, SliceRef slice, StringId value) {
  add_int(column, slice, index(value));
}

void TraceBuilder::add_counter_value(TrackId counter, int64_t time_ns, double value) {
  counter_track_.push_back(counter);
  data_.counters.time_ns.push_back(std::clamp(time_ns, -kMaxTimeNs, kMaxTimeNs));
  data_.counters.value.push_back(value);
}

void TraceBuilder::add_flow_point(TrackId track, int64_t time_ns, FlowPhase phase, bool binds_next,
                                  uint64_t key, uint64_t id, LabelId label) {
  flow_points_.push_back(
      {key, id, std::clamp(time_ns, -kMaxTimeNs, kMaxTimeNs), track, label, phase, binds_next});
}

void TraceBuilder::add_flow(SliceRef from, SliceRef to, int64_t from_ns, int64_t to_ns, uint64_t id,
                            LabelId label) {
  direct_flows_.push_back({from, to, std::clamp(from_ns, -kMaxTimeNs, kMaxTimeNs),
                           std::clamp(to_ns, -kMaxTimeNs, kMaxTimeNs), id, label});
}

FrameId TraceBuilder::add_frame(const Frame& frame) {
  const uint64_t key = mix(mix(index(frame.name), index(frame.file)),
                           static_cast<uint64_t>(static_cast<int64_t>(frame.line)));
  std::vector<FrameId>& candidates = frames_by_key_[key];
  for (const FrameId at : candidates) {
    if (data_.frames[index(at)] == frame) return at;
  }
  const FrameId at{static_cast<uint32_t>(data_.frames.size())};
  data_.frames.push_back(frame);
  candidates.push_back(at);
  return at;
}

size_t TraceBuilder::StackNodeHash::operator()(const StackNode& node) const {
  const uint64_t place = uint64_t{index(node.parent)} << 32 | index(node.frame);
  return mix(place, static_cast<uint32_t>(node.line));
}

StackId TraceBuilder::add_stack(const StackNode& node) {
  const auto [it, is_new] =
      stacks_by_node_.try_emplace(node, StackId{static_cast<uint32_t>(data_.stacks.size())});
  if (is_new) data_.stacks.push_back(node);
  return it->second;
}

void TraceBuilder::add_sample(TrackId track, int64_t time_ns, StackId stack, int64_t weight_ns,
                              int64_t cpu_ns, uint8_t flags, int64_t count) {
  const bool is_beside_calls = (flags & kSampleBesideCalls) != 0;
  SampleColumns& samples = is_beside_calls ? data_.line_samples : data_.samples;
  // A column that only has its default so far stays empty.
  const auto push = [rows = samples.size()](auto& column, auto fallback, auto value) {
    if (column.empty() && value == fallback) return;
    if (column.empty()) column.assign(rows, fallback);
    column.push_back(value);
  };
  push(samples.cpu_ns, kNoCpuNs, std::clamp(cpu_ns, kNoCpuNs, kMaxDurNs));
  push(samples.flags, uint8_t{0}, flags);
  push(samples.count, uint32_t{1},
       static_cast<uint32_t>(std::clamp<int64_t>(count, 1, std::numeric_limits<uint32_t>::max())));
  samples.time_ns.push_back(std::clamp(time_ns, -kMaxTimeNs, kMaxTimeNs));
  samples.track.push_back(track);
  samples.stack.push_back(stack);
  samples.weight_ns.push_back(std::clamp(weight_ns, -kMaxDurNs, kMaxDurNs));
}

void TraceBuilder::add_call_edge(FrameId caller, FrameId callee, uint64_t calls,
                                 uint64_t primitive_calls, int64_t self_ns, int64_t total_ns) {
  CallEdgeColumns& edges = data_.call_edges;
  edges.caller.push_back(caller);
  edges.callee.push_back(callee);
  edges.calls.push_back(calls);
  edges.primitive_calls.push_back(primitive_calls);
  edges.self_ns.push_back(std::clamp(self_ns, -kMaxDurNs, kMaxDurNs));
  edges.total_ns.push_back(std::clamp(total_ns, -kMaxDurNs, kMaxDurNs));
}

void TraceBuilder::add_allocation(TrackId track, const Allocation& allocation) {
  AllocationColumns& columns = data_.allocations;
  columns.time_ns.push_back(std::clamp(allocation.time_ns, -kMaxTimeNs, kMaxTimeNs));
  columns.track.push_back(track);
  columns.address.push_back(allocation.address);
  columns.bytes.push_back(allocation.bytes);
  columns.device_type.push_back(allocation.device_type);
  columns.device_id.push_back(allocation.device_id);
  columns.total_allocated_bytes.push_back(allocation.total_allocated_bytes);
  columns.total_reserved_bytes.push_back(allocation.total_reserved_bytes);
}

}  // namespace stepscope
