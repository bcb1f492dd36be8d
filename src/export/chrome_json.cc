#include "export/chrome_json.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "export/json_text.h"
#include "export/kineto_ids.h"
#include "export/nested_times.h"
#include "export/slice_args.h"
#include "export/trace_event_text.h"
#include "trace/find_slices.h"
#include "trace/torch_scopes.h"

namespace stepscope {
namespace {

// The category that Kineto gives to a kind, for slices whose source had none.
std::string_view kineto_category(SliceKind kind) {
  switch (kind) {
    case SliceKind::kOperator:
      return "cpu_op";
    case SliceKind::kAnnotation:
    case SliceKind::kStep:
      return "user_annotation";
    case SliceKind::kPython:
      return "python_function";
    case SliceKind::kRuntime:
      return "cuda_runtime";
    case SliceKind::kKernel:
      return "kernel";
    case SliceKind::kMemcpy:
      return "gpu_memcpy";
    case SliceKind::kMemset:
      return "gpu_memset";
    case SliceKind::kDeviceAnnotation:
      return "gpu_user_annotation";
    case SliceKind::kSync:
      return "cuda_sync";
    case SliceKind::kOverhead:
      return "overhead";
    case SliceKind::kSpan:
      return "Trace";
    case SliceKind::kOther:
    case SliceKind::kInstant:
    case SliceKind::kCall:
      break;
  }
  return "";
}

class ChromeJsonWriter : private TraceEventText {
 public:
  ChromeJsonWriter(const Trace& trace, ChromeJsonLayout layout, OutputFile& out)
      : TraceEventText(out),
        trace_(trace),
        layout_(layout),
        is_from_trace_events_(trace.format().ends_with("JSON")),
        adds_kineto_fields_(layout == ChromeJsonLayout::kKineto &&
                            trace.format() == kRecordingFormat),
        args_(trace),
        times_(trace),
        kineto_ids_(trace),
        instant_scope_(trace.find_args("s", ArgType::kString)),
        async_id_(trace.find_args("async id", ArgType::kInt)) {}

  void write() {
    text_ = "{\n";
    write_header();
    key("traceEvents");
    text_ += '[';
    find_first_threads();
    for (uint32_t track = 0; track < trace_.tracks().size() && out_.ok(); ++track) {
      write_track(TrackId{track});
    }
    for (uint32_t process = 0; process < trace_.processes().size(); ++process) {
      write_process(process);
    }
    write_flows();
    write_allocations();
    if (adds_kineto_fields_) write_recording_span();
    text_ += "\n]";
    write_samples();
    text_ += "\n}\n";
    out_.append(text_);
  }

 private:
  std::string_view string(StringId id) const { return trace_.string(id); }

  void field_id(std::string_view name, const ForeignId& id) {
    raw_key(name);
    if (id.text != kEmptyString) {
      json::append_string(text_, string(id.text));
    } else {
      json::append_int(text_, id.number);
    }
  }

  bool has_metadata(std::string_view name) const {
    return std::any_of(trace_.metadata().begin(), trace_.metadata().end(),
                       [&](const MetadataEntry& entry) { return string(entry.key) == name; });
  }

  bool has_samples() const { return !trace_.samples().time_ns.empty(); }
  static bool is_sample_key(std::string_view name) {
    return name == "samples" || name == "stackFrames";
  }

  void write_header() {
    const bool is_kineto = layout_ == ChromeJsonLayout::kKineto;
    if (is_kineto && !has_metadata("schemaVersion")) {
      key("schemaVersion");
      text_ += '1';
    }
    if (!has_metadata("deviceProperties") && (is_kineto || !trace_.devices().empty())) {
      key("deviceProperties");
      write_devices();
    }
    for (const MetadataEntry& entry : trace_.metadata()) {
      const std::string_view name = string(entry.key);
      const bool is_ours = name == "traceEvents" || (has_samples() && is_sample_key(name));
      if (is_ours) continue;
      key(name);
      if (entry.is_json) {
        json_value(string(entry.value));
      } else {
        json::append_string(text_, string(entry.value));
      }
    }
    if (is_kineto && !has_metadata("displayTimeUnit")) {
      key("displayTimeUnit");
      text_ += "\"ms\"";
    }
    const bool has_base = has_metadata("baseTimeNanoseconds");
    if (!has_base && (is_kineto || trace_.clock_base_ns() != 0)) {
      key("baseTimeNanoseconds");
      json::append_int(text_, trace_.clock_base_ns());
    }
  }

  void write_devices() {
    text_ += '[';
    bool is_first = true;
    for (const Device& device : trace_.devices()) {
      text_ += is_first ? "\n" : ",\n";
      is_first = false;
      text_ += "{\"id\":";
      json::append_int(text_, device.id);
      field("name", string(device.name));
      const std::array<std::pair<std::string_view, int64_t>, 11> figures = {{
          {"totalGlobalMem", device.total_memory_bytes},
          {"computeMajor", device.compute_major},
          {"computeMinor", device.compute_minor},
          {"maxThreadsPerBlock", device.max_threads_per_block},
          {"maxThreadsPerMultiprocessor", device.max_threads_per_sm},
          {"regsPerBlock", device.registers_per_block},
          {"regsPerMultiprocessor", device.registers_per_sm},
          {"warpSize", device.warp_size},
          {"sharedMemPerBlock", device.shared_memory_per_block},
          {"sharedMemPerMultiprocessor", device.shared_memory_per_sm},
          {"numSms", device.sm_count},
      }};
      for (const auto& [name, value] : figures) {
        if (value != 0) field_int(name, value);
      }
      text_ += '}';
    }
    text_ += ']';
  }

  // A reader makes a track of every thread id that it meets. So what belongs to a process, and not
  // to a thread, goes under the id of the process's first thread.
  void find_first_threads() {
    first_thread_.resize(trace_.processes().size());
    for (const Track& track : trace_.tracks()) {
      const bool is_thread = track.kind == TrackKind::kThread || track.kind == TrackKind::kStream;
      if (is_thread && first_thread_[track.process] == nullptr)
        first_thread_[track.process] = &track;
    }
    has_process_.resize(trace_.processes().size());
  }

  void process_ids(uint32_t process) {
    field_id("pid", trace_.processes()[process].pid);
    if (first_thread_[process] != nullptr) field_id("tid", first_thread_[process]->tid);
  }

  // Once per process, before the first of its tracks: readers number processes as they meet them.
  void write_process(uint32_t number) {
    if (has_process_[number]) return;
    has_process_[number] = true;
    const Process& process = trace_.processes()[number];
    const auto metadata = [&](std::string_view name) {
      begin_event("M");
      field("name", name);
      process_ids(number);
      begin_args();
    };
    if (process.name != kEmptyString) {
      metadata("process_name");
      arg_key("name");
      json::append_string(text_, string(process.name));
      text_ += "}}";
    }
    if (process.labels != kEmptyString || adds_kineto_fields_) {
      metadata("process_labels");
      arg_key("labels");
      json::append_string(text_, adds_kineto_fields_ ? "CPU" : string(process.labels));
      text_ += "}}";
    }
    if (process.has_sort_index || adds_kineto_fields_) {
      metadata("process_sort_index");
      arg_int("sort_index", process.has_sort_index ? process.sort_index : number);
      text_ += "}}";
    }
  }

  void write_track(TrackId id) {
    const Track& track = trace_.tracks()[index(id)];
    write_process(track.process);
    switch (track.kind) {
      case TrackKind::kThread:
      case TrackKind::kStream:
        write_thread_metadata(track);
        times_.load(track);
        for (uint32_t i = 0; i < track.slice_count && out_.ok(); ++i) {
          write_slice(track, SliceId{track.first_slice + i});
        }
        break;
      case TrackKind::kAsync:
        if (adds_kineto_fields_ && holds_steps(track)) {
          write_steps(track);
        } else {
          write_async_track(track);
        }
        break;
      case TrackKind::kCounter:
        write_counter(track);
        break;
    }
  }

  void write_thread_metadata(const Track& track) {
    const auto metadata = [&](std::string_view name) {
      begin_event("M");
      field("name", name);
      ids(track);
      begin_args();
    };
    // A thread that nothing happened on is there all the same.
    if (track.name != kEmptyString || track.slice_count == 0) {
      metadata("thread_name");
      arg_key("name");
      json::append_string(text_, string(track.name));
      text_ += "}}";
    }
    if (track.has_sort_index) {
      metadata("thread_sort_index");
      arg_int("sort_index", track.sort_index);
      text_ += "}}";
    }
  }

  void ids(const Track& track) {
    field_id("pid", trace_.processes()[track.process].pid);
    field_id("tid", track.tid);
  }

  // Whether readers know the kind by another category than the trace's own. Where the trace was
  // such a file, its categories are as good as ever.
  bool has_foreign_category(const Label& label) const {
    return !is_from_trace_events_ && label.category != kEmptyString &&
           string(label.category) != kPhaseCategory &&  // no annotation of the user's
           !kineto_category(label.kind).empty() &&
           kineto_category(label.kind) != string(label.category);
  }

  // Category and name.
  void label(LabelId id) {
    const Label& label = trace_.labels()[id];
    const bool is_bare = label.category == kEmptyString;
    const std::string_view category = is_bare || has_foreign_category(label)
                                          ? kineto_category(label.kind)
                                          : string(label.category);
    if (!category.empty()) {
      field("cat", category);
    } else if (adds_kineto_fields_) {
      field("cat", "other");  // readers fail, or drop the event, where there is none
    }
    field("name", string(label.name));
  }

  void write_slice(const Track& track, SliceId id) {
    const SliceColumns& slices = trace_.slices();
    const uint32_t row = index(id);
    const SliceKind kind = trace_.labels()[slices.label[row]].kind;
    const bool is_instant = kind == SliceKind::kInstant && slices.dur_ns[row] == 0;
    begin_event(is_instant ? "i" : "X");
    label(slices.label[row]);
    ids(track);
    // A file of trace events is written as it was.
    field_us("ts", is_from_trace_events_ ? slices.start_ns[row] : times_.start_ns(row));
    if (!is_instant) {
      field_us("dur", is_from_trace_events_ ? slices.dur_ns[row] : times_.dur_ns(row));
    }
    take_args(id);
    // How far an instant reaches (thread, process, global) stands outside of its arguments.
    if (is_instant) write_field_of_arg(instant_scope_);
    write_args(slices.label[row], row);
    text_ += '}';
  }

  void take_args(SliceId id) {
    taken_args_.clear();
    args_.take(id, [&](const ArgColumn& column, size_t at) {
      taken_args_.push_back({&column, at});
    });
  }

  // Writes one of the arguments taken as a field of the event instead, where it is there.
  void write_field_of_arg(const ArgColumn* column) {
    if (column == nullptr) return;
    const auto at = std::find_if(taken_args_.begin(), taken_args_.end(),
                                 [&](const TakenArg& arg) { return arg.column == column; });
    if (at == taken_args_.end()) return;
    raw_key(string(column->key));
    value(*at);
    taken_args_.erase(at);
  }

  void write_args(LabelId id, uint32_t row) {
    const Label& label = trace_.labels()[id];
    const bool has_category = has_foreign_category(label);
    const bool has_ids = adds_kineto_fields_ && kineto_ids_.has_ids(label.kind);
    if (taken_args_.empty() && !has_category && !has_ids) return;
    begin_args();
    if (has_ids) write_kineto_ids(row);
    if (has_category) {
      arg_key("category");
      json::append_string(text_, string(label.category));
    }
    for (const TakenArg& arg : taken_args_) {
      arg_key(string(arg.column->key));
      value(arg);
    }
    text_ += '}';
  }

  void write_kineto_ids(uint32_t row) {
    if (const auto python = kineto_ids_.find_python_ids(row)) {
      arg_key("Python parent id");
      if (python->parent_id != 0) {
        json::append_uint(text_, python->parent_id);
      } else {
        text_ += "null";
      }
      arg_int("Python id", python->id);
      if (python->module_id >= 0) arg_int("Python module id", python->module_id);
    } else {
      arg_int("External id", KinetoIds::external_id(row));
      arg_int("Ev Idx", row);
    }
  }

  struct TakenArg {
    const ArgColumn* column;
    size_t at;
  };

  void value(const TakenArg& arg) {
    const ArgColumn& column = *arg.column;
    switch (column.type) {
      case ArgType::kInt:
        json::append_int(text_, column.ints[arg.at]);
        break;
      case ArgType::kDouble:
        json::append_double(text_, column.doubles[arg.at]);
        break;
      case ArgType::kString:
        json::append_string(text_, string(column.string(arg.at)));
        break;
      case ArgType::kBool:
        text_ += column.ints[arg.at] != 0 ? "true" : "false";
        break;
      case ArgType::kJson:
        json_value(string(column.string(arg.at)));
        break;
    }
  }

  bool holds_steps(const Track& track) const {
    if (track.slice_count == 0) return false;
    return trace_.labels()[trace_.slices().label[track.first_slice]].kind == SliceKind::kStep;
  }

  // Readers know steps by torch.profiler's name for them. Calls and steps overlap, so that these
  // have a thread of their own, under a number that no thread has. They end 1 ns early: where a
  // reader adds begin and duration as doubles, the next step would begin before the end.
  void write_steps(const Track& track) {
    constexpr int64_t kMaxThreadId = 1 << 22;  // Linux's
    Track lane = track;
    lane.tid.number += kMaxThreadId;
    write_thread_metadata(lane);
    for (uint32_t i = 0; i < track.slice_count && out_.ok(); ++i) {
      const uint32_t row = track.first_slice + i;
      std::string_view number = trace_.slice_name(SliceId{row});
      if (number.starts_with("step ")) number.remove_prefix(5);
      begin_event("X");
      field("cat", kineto_category(SliceKind::kStep));
      field("name", "ProfilerStep#" + std::string(number));
      ids(lane);
      field_us("ts", trace_.slices().start_ns[row]);
      field_us("dur", std::max<int64_t>(0, trace_.slices().dur_ns[row] - 1));
      take_args(SliceId{row});
      write_args(trace_.slices().label[row], row);
      text_ += '}';
    }
  }

  // Begins and ends in the order of nesting, so that those of one operation (one id) meet.
  void write_async_track(const Track& track) {
    const SliceColumns& slices = trace_.slices();
    std::vector<OpenAsync> open;
    const auto close = [&] {
      const OpenAsync& last = open.back();
      async_point("e", track, last.row, last.id, slices.end_ns(last.row));
      text_ += '}';
      open.pop_back();
    };
    for (uint32_t i = 0; i < track.slice_count && out_.ok(); ++i) {
      const uint32_t row = track.first_slice + i;
      const SliceId parent = slices.parent[row];
      while (!open.empty() && SliceId{open.back().row} != parent) close();
      take_args(SliceId{row});
      const uint64_t id = take_async_id().value_or(row);
      const bool is_instant = trace_.labels()[slices.label[row]].kind == SliceKind::kInstant;
      async_point(is_instant ? "n" : "b", track, row, id, slices.start_ns[row]);
      write_args(slices.label[row], row);
      text_ += '}';
      if (!is_instant) open.push_back({row, id});
    }
    while (!open.empty()) close();
  }

  struct OpenAsync {
    uint32_t row;
    uint64_t id;
  };

  void async_point(std::string_view phase, const Track& track, uint32_t row, uint64_t id,
                   int64_t time_ns) {
    begin_event(phase);
    label(trace_.slices().label[row]);
    raw_key("id");
    json::append_uint(text_, id);
    process_ids(track.process);
    field_us("ts", time_ns);
  }

  // The id of an operation is an argument in the trace and a field of its own in the file.
  std::optional<uint64_t> take_async_id() {
    for (size_t i = 0; i < taken_args_.size(); ++i) {
      if (taken_args_[i].column != async_id_) continue;
      const auto id = static_cast<uint64_t>(async_id_->ints[taken_args_[i].at]);
      taken_args_.erase(taken_args_.begin() + static_cast<ptrdiff_t>(i));
      return id;
    }
    return std::nullopt;
  }

  void write_counter(const Track& track) {
    const CounterColumns& counters = trace_.counters();
    for (uint64_t i = 0; i < track.value_count && out_.ok(); ++i) {
      const uint64_t at = track.first_value + i;
      begin_event("C");
      field("name", string(track.name));
      process_ids(track.process);
      field_us("ts", counters.time_ns[at]);
      begin_args();
      arg_key(string(track.series));
      json::append_double(text_, counters.value[at]);
      text_ += "}}";
    }
  }

  void write_flows() {
    const FlowColumns& flows = trace_.flows();
    const size_t count = flows.from.size();
    // An arrow ends in the slice that is open at its last moment, or in the next one that starts.
    std::vector<PointInTime> ends(count);
    for (size_t i = 0; i < count; ++i) {
      ends[i] = {flows.to_ns[i], trace_.find_track_of(flows.to[i]), false};
    }
    const std::vector<SliceId> open =
        find_slices(trace_.tracks(), trace_.slices(), trace_.labels(), ends);
    const auto goes_on = [&](size_t before, size_t after) {
      return flows.id[before] == flows.id[after] && flows.label[before] == flows.label[after] &&
             flows.to[before] == flows.from[after] && flows.to_ns[before] == flows.from_ns[after];
    };
    // Several chains may have one id, in different scopes of the file that they came from.
    std::map<std::pair<LabelId, uint64_t>, uint32_t> chains_of_id;
    uint32_t scope = 0;
    for (size_t i = 0; i < count && out_.ok(); ++i) {
      if (i == 0 || !goes_on(i - 1, i)) {
        scope = chains_of_id[{flows.label[i], flows.id[i]}]++;
        flow_point("s", i, scope, flows.from[i], flows.from_ns[i]);
        text_ += '}';
      }
      const bool has_next = i + 1 < count && goes_on(i, i + 1);
      flow_point(has_next ? "t" : "f", i, scope, flows.to[i], flows.to_ns[i]);
      if (open[i] == flows.to[i]) field("bp", "e");
      text_ += '}';
    }
  }

  void flow_point(std::string_view phase, size_t flow, uint32_t scope, SliceId slice,
                  int64_t time_ns) {
    begin_event(phase);
    raw_key("id");
    json::append_uint(text_, trace_.flows().id[flow]);
    if (scope != 0) field("scope", std::to_string(scope));
    label(trace_.flows().label[flow]);
    ids(trace_.tracks()[index(trace_.find_track_of(slice))]);
    field_us("ts", time_ns);
  }

  void write_allocations() {
    const AllocationColumns& allocations = trace_.allocations();
    for (size_t i = 0; i < allocations.time_ns.size() && out_.ok(); ++i) {
      begin_event("i");
      field("cat", "cpu_instant_event");
      field("s", "t");
      field("name", "[memory]");
      ids(trace_.tracks()[index(allocations.track[i])]);
      field_us("ts", allocations.time_ns[i]);
      begin_args();
      if (allocations.total_reserved_bytes[i] >= 0) {
        arg_int("Total Reserved", allocations.total_reserved_bytes[i]);
      }
      if (allocations.total_allocated_bytes[i] >= 0) {
        arg_int("Total Allocated", allocations.total_allocated_bytes[i]);
      }
      arg_int("Bytes", allocations.bytes[i]);
      arg_key("Addr");
      json::append_uint(text_, allocations.address[i]);
      arg_int("Device Id", allocations.device_id[i]);
      arg_int("Device Type", allocations.device_type[i]);
      text_ += "}}";
    }
  }

  // The recording as a whole, under the names that readers look for.
  void write_recording_span() {
    begin_event("X");
    field("cat", kineto_category(SliceKind::kSpan));
    field("name", "PyTorch Profiler (0)");
    field("pid", "Spans");
    field("tid", "PyTorch Profiler");
    field_us("ts", trace_.begin_ns());
    field_us("dur", trace_.end_ns() - trace_.begin_ns());
    text_ += '}';
  }

  void write_samples() {
    if (!has_samples()) return;
    key("stackFrames");
    text_ += '{';
    for (uint32_t i = 0; i < trace_.stacks().size() && out_.ok(); ++i) {
      const StackNode& node = trace_.stacks()[i];
      text_ += i == 0 ? "\n\"" : ",\n\"";
      json::append_int(text_, i);
      text_ += "\":{\"name\":";
      const Frame frame = node.frame == kNoFrame ? Frame{} : trace_.frames()[index(node.frame)];
      json::append_string(text_, string(frame.name));
      field("category", string(frame.file));
      if (frame.line != 0) field_int("line", frame.line);
      if (node.parent != kNoStack) field("parent", std::to_string(index(node.parent)));
      text_ += '}';
      flush_if_full();
    }
    text_ += "\n}";
    key("samples");
    text_ += '[';
    const SampleColumns& samples = trace_.samples();
    for (size_t i = 0; i < samples.time_ns.size() && out_.ok(); ++i) {
      text_ += i == 0 ? "\n{\"name\":\"sample\"" : ",\n{\"name\":\"sample\"";
      ids(trace_.tracks()[index(samples.track[i])]);
      field_us("ts", samples.time_ns[i]);
      if (samples.stack[i] != kNoStack) field("sf", std::to_string(index(samples.stack[i])));
      field_us("weight", samples.weight_ns[i]);
      text_ += '}';
      flush_if_full();
    }
    text_ += "\n]";
  }

  const Trace& trace_;
  const ChromeJsonLayout layout_;
  const bool is_from_trace_events_;
  const bool adds_kineto_fields_;
  SliceArgs args_;
  NestedTimes times_;  // of the track at hand
  KinetoIds kineto_ids_;
  std::vector<TakenArg> taken_args_;  // of the slice at hand
  const ArgColumn* const instant_scope_;
  const ArgColumn* const async_id_;
  std::vector<const Track*> first_thread_;  // by process; null: it has none
  std::vector<bool> has_process_;           // written already
};

}  // namespace

void write_chrome_json(const Trace& trace, ChromeJsonLayout layout, OutputFile& out) {
  ChromeJsonWriter(trace, layout, out).write();
}

}  // namespace stepscope
