#include "export/chrome_json.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "export/json_text.h"
#include "export/slice_args.h"

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

class ChromeJsonWriter {
 public:
  ChromeJsonWriter(const Trace& trace, ChromeJsonLayout layout, OutputFile& out)
      : trace_(trace), layout_(layout), out_(out), args_(trace) {}

  void write() {
    text_ = "{\n";
    write_header();
    key("traceEvents");
    text_ += '[';
    write_processes();
    for (uint32_t track = 0; track < trace_.tracks().size() && out_.ok(); ++track) {
      write_track(TrackId{track});
    }
    write_flows();
    write_allocations();
    text_ += "\n]";
    write_samples();
    text_ += "\n}\n";
    out_.append(text_);
  }

 private:
  std::string_view string(StringId id) const { return trace_.string(id); }

  // A key beside "traceEvents".
  void key(std::string_view name) {
    if (!is_first_key_) text_ += ",\n";
    is_first_key_ = false;
    json::append_string(text_, name);
    text_ += ": ";
  }

  void begin_event(std::string_view phase) {
    if (text_.size() > kFlushBytes) {
      out_.append(text_);
      text_.clear();
    }
    text_ += is_first_event_ ? "\n{\"ph\":\"" : ",\n{\"ph\":\"";
    is_first_event_ = false;
    text_ += phase;
    text_ += '"';
  }
  void field(std::string_view name, std::string_view value) {
    raw_key(name);
    json::append_string(text_, value);
  }
  void field_id(std::string_view name, const ForeignId& id) {
    raw_key(name);
    if (id.text != kEmptyString) {
      json::append_string(text_, string(id.text));
    } else {
      json::append_int(text_, id.number);
    }
  }
  void field_us(std::string_view name, int64_t ns) {
    raw_key(name);
    json::append_us(text_, ns);
  }
  void field_int(std::string_view name, int64_t value) {
    raw_key(name);
    json::append_int(text_, value);
  }
  void raw_key(std::string_view name) {
    text_ += ",\"";
    text_ += name;
    text_ += "\":";
  }
  void begin_args() {
    text_ += ",\"args\":{";
    is_first_arg_ = true;
  }
  void arg_key(std::string_view name) {
    if (!is_first_arg_) text_ += ',';
    is_first_arg_ = false;
    json::append_string(text_, name);
    text_ += ':';
  }
  void arg_int(std::string_view name, int64_t value) {
    arg_key(name);
    json::append_int(text_, value);
  }
  void json_value(std::string_view json) {
    if (json::is_value(json)) {
      text_ += json;
    } else {
      json::append_string(text_, json);
    }
  }

  bool has_metadata(std::string_view name) const {
    return std::any_of(trace_.metadata().begin(), trace_.metadata().end(),
                       [&](const MetadataEntry& entry) { return string(entry.key) == name; });
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
      if (name == "traceEvents" || name == "baseTimeNanoseconds" || name == "samples" ||
          name == "stackFrames") {
        continue;
      }
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
    if (is_kineto || trace_.clock_base_ns() != 0) {
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

  void write_processes() {
    for (const Process& process : trace_.processes()) {
      const auto metadata = [&](std::string_view name) {
        begin_event("M");
        field("name", name);
        field_id("pid", process.pid);
        begin_args();
      };
      if (process.name != kEmptyString) {
        metadata("process_name");
        arg_key("name");
        json::append_string(text_, string(process.name));
        text_ += "}}";
      }
      if (process.labels != kEmptyString) {
        metadata("process_labels");
        arg_key("labels");
        json::append_string(text_, string(process.labels));
        text_ += "}}";
      }
      if (process.has_sort_index) {
        metadata("process_sort_index");
        arg_int("sort_index", process.sort_index);
        text_ += "}}";
      }
    }
  }

  void write_track(TrackId id) {
    const Track& track = trace_.tracks()[index(id)];
    switch (track.kind) {
      case TrackKind::kThread:
      case TrackKind::kStream:
        write_thread_metadata(track);
        for (uint32_t i = 0; i < track.slice_count && out_.ok(); ++i) {
          write_slice(track, SliceId{track.first_slice + i});
        }
        break;
      case TrackKind::kAsync:
        for (uint32_t i = 0; i < track.slice_count && out_.ok(); ++i) {
          write_async_slice(track, SliceId{track.first_slice + i});
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
    if (track.name != kEmptyString) {
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

  // Category and name.
  void label(LabelId id) {
    const Label& label = trace_.labels()[id];
    const std::string_view category = string(label.category);
    if (!category.empty()) {
      field("cat", category);
    } else if (const std::string_view kinetos = kineto_category(label.kind); !kinetos.empty()) {
      field("cat", kinetos);
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
    field_us("ts", slices.start_ns[row]);
    if (is_instant) {
      field("s", "t");
    } else {
      field_us("dur", slices.dur_ns[row]);
    }
    write_args(id);
    text_ += '}';
  }

  void write_args(SliceId id) {
    bool has_args = false;
    args_.take(id, [&](const ArgColumn& column, size_t at) {
      if (!has_args) begin_args();
      has_args = true;
      arg_key(string(column.key));
      switch (column.type) {
        case ArgType::kInt:
          json::append_int(text_, column.ints[at]);
          break;
        case ArgType::kDouble:
          json::append_double(text_, column.doubles[at]);
          break;
        case ArgType::kString:
          json::append_string(text_, string(column.string(at)));
          break;
        case ArgType::kBool:
          text_ += column.ints[at] != 0 ? "true" : "false";
          break;
        case ArgType::kJson:
          json_value(string(column.string(at)));
          break;
      }
    });
    if (has_args) text_ += '}';
  }

  // Every slice is an operation of its own: its id is its row, so that begin and end always meet.
  void write_async_slice(const Track& track, SliceId id) {
    const SliceColumns& slices = trace_.slices();
    const uint32_t row = index(id);
    const auto point = [&](std::string_view phase, int64_t time_ns) {
      begin_event(phase);
      label(slices.label[row]);
      field_int("id", row);
      ids(track);
      field_us("ts", time_ns);
    };
    if (trace_.labels()[slices.label[row]].kind == SliceKind::kInstant) {
      point("n", slices.start_ns[row]);
      write_args(id);
      text_ += '}';
      return;
    }
    point("b", slices.start_ns[row]);
    write_args(id);
    text_ += '}';
    point("e", slices.end_ns(row));
    text_ += '}';
  }

  void write_counter(const Track& track) {
    const CounterColumns& counters = trace_.counters();
    for (uint64_t i = 0; i < track.value_count && out_.ok(); ++i) {
      const uint64_t at = track.first_value + i;
      begin_event("C");
      field("name", string(track.name));
      field_id("pid", trace_.processes()[track.process].pid);
      field_us("ts", counters.time_ns[at]);
      begin_args();
      arg_key(string(track.series));
      json::append_double(text_, counters.value[at]);
      text_ += "}}";
    }
  }

  void write_flows() {
    const FlowColumns& flows = trace_.flows();
    for (size_t i = 0; i < flows.from.size() && out_.ok(); ++i) {
      const auto goes_on = [&](size_t before, size_t after) {
        return flows.id[before] == flows.id[after] && flows.label[before] == flows.label[after] &&
               flows.to[before] == flows.from[after] && flows.to_ns[before] == flows.from_ns[after];
      };
      if (i == 0 || !goes_on(i - 1, i)) flow_point("s", i, flows.from[i], flows.from_ns[i]);
      const bool has_next = i + 1 < flows.from.size() && goes_on(i, i + 1);
      flow_point(has_next ? "t" : "f", i, flows.to[i], flows.to_ns[i]);
    }
  }

  void flow_point(std::string_view phase, size_t flow, SliceId slice, int64_t time_ns) {
    const Track& track = trace_.tracks()[index(trace_.find_track_of(slice))];
    begin_event(phase);
    raw_key("id");
    json::append_uint(text_, trace_.flows().id[flow]);
    label(trace_.flows().label[flow]);
    ids(track);
    field_us("ts", time_ns);
    if (phase != "s") field("bp", "e");
    text_ += '}';
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

  void write_samples() {
    if (trace_.samples().time_ns.empty()) return;
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

  void flush_if_full() {
    if (text_.size() <= kFlushBytes) return;
    out_.append(text_);
    text_.clear();
  }

  static constexpr size_t kFlushBytes = 256 << 10;

  const Trace& trace_;
  const ChromeJsonLayout layout_;
  OutputFile& out_;
  SliceArgs args_;
  std::string text_;
  bool is_first_key_ = true;
  bool is_first_event_ = true;
  bool is_first_arg_ = true;
};

}  // namespace

void write_chrome_json(const Trace& trace, ChromeJsonLayout layout, OutputFile& out) {
  ChromeJsonWriter(trace, layout, out).write();
}

}  // namespace stepscope
