#include "trace/trace_merger.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "base/saturating.h"

namespace stepscope {
namespace {

constexpr int64_t kMostId = int64_t{1} << 48;  // larger ones are no counters, and stay

// Ids that bind what a device did to who asked for it.
bool is_binding(std::string_view key) {
  return key == "correlation" || key == "External id" || key == "external id";
}

bool is_device(std::string_view key) { return key == "device"; }

// One trace on its way into a builder.
class Copy {
 public:
  Copy(const Trace& from, TraceBuilder& to, int64_t shift_ns)
      : from_(from),
        to_(to),
        shift_ns_(shift_ns),
        strings_(from.strings().size(), kEmptyString),
        first_slice_(to.slice_count()) {
    for (const Label& label : from.labels().all()) {
      labels_.push_back(
          to.labels().intern({string(label.name), string(label.category), label.kind}));
    }
  }

  std::vector<uint32_t> processes;  // in the builder, by process
  int64_t id_base = 0;
  int32_t device_base = 0;
  uint64_t flow_base = 0;
  // What the next trace begins with.
  int64_t most_id = -1;
  int32_t most_device = -1;
  uint64_t most_flow = 0;

  StringId string(StringId id) {
    if (id == kEmptyString) return id;
    StringId& known = strings_[index(id)];
    if (known == kEmptyString) known = to_.string(from_.string(id));
    return known;
  }

  void copy() {
    copy_tracks();
    copy_slices();
    for (const ArgColumn& column : from_.args()) copy_args(column);
    copy_flows();
    copy_samples();
    copy_allocations();
    for (Device device : from_.devices()) {
      device.name = string(device.name);
      if (device.id >= 0 && device.id < 1 << 20) {
        most_device = std::max(most_device, static_cast<int32_t>(device.id));
        device.id += device_base;
      }
      to_.add_device(device);
    }
  }

 private:
  int64_t moved(int64_t ns) const {
    return std::clamp(add_saturating(ns, shift_ns_), -TraceBuilder::kMaxTimeNs,
                      TraceBuilder::kMaxTimeNs);
  }
  SliceRef slice(SliceId id) const {
    return id == kNoSlice ? kNoSliceRef : SliceRef{first_slice_ + index(id)};
  }

  void copy_tracks() {
    for (const Track& track : from_.tracks()) {
      Track copy = track;
      copy.process = processes[track.process];
      copy.tid.text = string(track.tid.text);
      copy.name = string(track.name);
      copy.series = string(track.series);
      copy.unit = string(track.unit);
      if (copy.device >= 0 && copy.device < 1 << 20) {
        most_device = std::max(most_device, copy.device);
        copy.device += device_base;
      }
      copy.first_slice = copy.slice_count = 0;
      copy.first_value = copy.value_count = 0;
      const TrackId id = to_.add_track(copy);
      tracks_.push_back(id);
      for (uint64_t i = track.first_value; i < track.first_value + track.value_count; ++i) {
        to_.add_counter_value(id, moved(from_.counters().time_ns[i]), from_.counters().value[i]);
      }
    }
  }

  void copy_slices() {
    const SliceColumns& slices = from_.slices();
    // In the order of rows, so that a row's place says where its copy is.
    std::vector<size_t> order(from_.tracks().size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return from_.tracks()[a].first_slice < from_.tracks()[b].first_slice;
    });
    for (const size_t t : order) {
      const Track& track = from_.tracks()[t];
      for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
        to_.add_slice(tracks_[t], moved(slices.start_ns[row]), slices.dur_ns[row],
                      labels_[index(slices.label[row])]);
      }
    }
  }

  void copy_args(const ArgColumn& column) {
    const ArgColumnRef to = to_.arg_column(string(column.key), column.type);
    const std::string_view key = from_.string(column.key);
    const bool is_id = is_binding(key) && column.type == ArgType::kInt;
    const bool is_number = is_device(key) && column.type == ArgType::kInt;
    for (size_t i = 0; i < column.rows.size(); ++i) {
      const SliceRef row = slice(column.rows[i]);
      switch (column.type) {
        case ArgType::kDouble:
          to_.add_double(to, row, column.doubles[i]);
          break;
        case ArgType::kString:
        case ArgType::kJson:
          to_.add_string(to, row, string(column.string(i)));
          break;
        case ArgType::kInt:
        case ArgType::kBool: {
          int64_t value = column.ints[i];
          if (is_id && value > 0 && value < kMostId) {  // 0: none
            most_id = std::max(most_id, value);
            value += id_base;
          } else if (is_number && value >= 0 && value < 1 << 20) {
            value += device_base;
          }
          to_.add_int(to, row, value);
          break;
        }
      }
    }
  }

  void copy_flows() {
    const FlowColumns& flows = from_.flows();
    for (size_t i = 0; i < flows.from.size(); ++i) {
      most_flow = std::max(most_flow, flows.id[i]);
      to_.add_flow(slice(flows.from[i]), slice(flows.to[i]), moved(flows.from_ns[i]),
                   moved(flows.to_ns[i]), flows.id[i] + flow_base, labels_[index(flows.label[i])]);
    }
  }

  void copy_samples() {
    std::vector<FrameId> frames;
    for (const Frame& frame : from_.frames()) {
      frames.push_back(to_.add_frame({string(frame.name), string(frame.file), frame.line}));
    }
    std::vector<StackId> stacks;  // a parent comes before its children
    for (const StackNode& node : from_.stacks()) {
      const bool is_root = node.parent == kNoStack || index(node.parent) >= stacks.size();
      stacks.push_back(to_.add_stack({is_root ? kNoStack : stacks[index(node.parent)],
                                      node.frame == kNoFrame ? kNoFrame : frames[index(node.frame)],
                                      node.line}));
    }
    for (const SampleColumns* samples : {&from_.samples(), &from_.line_samples()}) {
      for (size_t i = 0; i < samples->size(); ++i) {
        const StackId stack = samples->stack[i];
        to_.add_sample(tracks_[index(samples->track[i])], moved(samples->time_ns[i]),
                       stack == kNoStack ? kNoStack : stacks[index(stack)], samples->weight_ns[i],
                       samples->get_cpu_ns(i), samples->get_flags(i), samples->get_count(i));
      }
    }
  }

  void copy_allocations() {
    const AllocationColumns& all = from_.allocations();
    for (size_t i = 0; i < all.time_ns.size(); ++i) {
      TraceBuilder::Allocation one;
      one.time_ns = moved(all.time_ns[i]);
      one.address = all.address[i];
      one.bytes = all.bytes[i];
      one.device_type = all.device_type[i];
      one.device_id = all.device_id[i];
      if (one.device_id >= 0) {
        const int32_t device = one.device_id + device_base;
        most_device = std::max(most_device, static_cast<int32_t>(one.device_id));
        one.device_id =
            static_cast<int16_t>(std::min<int32_t>(device, std::numeric_limits<int16_t>::max()));
      }
      one.total_allocated_bytes = all.total_allocated_bytes[i];
      one.total_reserved_bytes = all.total_reserved_bytes[i];
      to_.add_allocation(tracks_[index(all.track[i])], one);
    }
  }

  const Trace& from_;
  TraceBuilder& to_;
  const int64_t shift_ns_;
  std::vector<StringId> strings_;  // in the builder, by string; empty: not asked for yet
  std::vector<LabelId> labels_;
  std::vector<TrackId> tracks_;
  const uint32_t first_slice_;
};

}  // namespace

// A number that no process has yet; a text gets the name before it.
ForeignId TraceMerger::find_free(const Trace& trace, const ForeignId& pid, std::string_view name) {
  ForeignId free;
  if (pid.text != kEmptyString) {
    free.text = builder_.string(std::string(name) + " " + std::string(trace.string(pid.text)));
    return free;
  }
  constexpr int64_t kBeyondPids = 10'000'000;
  free.number = pid.number;
  if (pids_.contains(free.number)) {
    free.number = std::max(kBeyondPids, *pids_.rbegin() < INT64_MAX ? *pids_.rbegin() + 1 : 0);
    while (pids_.contains(free.number)) ++free.number;
  }
  pids_.insert(free.number);
  return free;
}

Status TraceMerger::add(const Trace& trace, int64_t shift_ns, std::string_view name) {
  if (trace.slices().size() > TraceBuilder::kMaxSlices - builder_.slice_count()) {
    return Status::error(trace.source() + ": with it there are more than 4,294,967,294 slices");
  }
  if (count_ == 0) {
    base_ns_ = trace.clock_base_ns();
    builder_.set_clock_base_ns(base_ns_);
    // What was recorded here would be taken for one recording.
    builder_.set_format(trace.format() == kRecordingFormat ? "merged" : trace.format());
    for (const MetadataEntry& entry : trace.metadata()) {
      const std::string_view key = trace.string(entry.key);
      if (key == "distributedInfo") continue;
      builder_.add_metadata(key, trace.string(entry.value), entry.is_json);
    }
  }
  Copy copy(trace, builder_,
            add_saturating(shift_ns, subtract_saturating(trace.clock_base_ns(), base_ns_)));
  copy.id_base = next_id_;
  copy.device_base = next_device_;
  copy.flow_base = next_flow_;
  std::vector<ForeignId> pids;
  for (const Process& process : trace.processes()) pids.push_back(process.pid);
  for (const Track& track : trace.tracks()) {  // in Kineto's files a device's number is its pid
    ForeignId& pid = pids[track.process];
    if (track.kind == TrackKind::kStream && track.device >= 0 &&
        trace.processes()[track.process].pid == ForeignId{track.device}) {
      pid.number = int64_t{track.device} + next_device_;
    }
  }
  for (size_t i = 0; i < pids.size(); ++i) {
    const Process& process = trace.processes()[i];
    const uint32_t id = builder_.add_new_process(find_free(trace, pids[i], name));
    Process& to = builder_.process(id);
    to.name = builder_.string(std::string(name) + ": " + std::string(trace.string(process.name)));
    to.labels = builder_.string(trace.string(process.labels));
    to.has_sort_index = true;
    to.sort_index = static_cast<int64_t>(count_) * 1000 +
                    (process.has_sort_index ? std::clamp<int64_t>(process.sort_index, 0, 999) : 0);
    copy.processes.push_back(id);
  }
  copy.copy();
  next_id_ += copy.most_id + 1;
  next_device_ += copy.most_device + 1;
  next_flow_ += copy.most_flow + 1;
  builder_.stats().merge(trace.stats());
  ++count_;
  return {};
}

Trace TraceMerger::finish() && { return std::move(builder_).finish(); }

}  // namespace stepscope
