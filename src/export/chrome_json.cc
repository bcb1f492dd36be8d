#include "export/chrome_json.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "export/chrome_event_text.h"
#include "export/chrome_header.h"
#include "export/chrome_slices.h"
#include "trace/find_slices.h"

namespace stepscope {
namespace {

class ChromeJsonWriter {
 public:
  ChromeJsonWriter(ChromeEventText& to, const ChromeOverlay* overlay)
      : to_(to),
        trace_(to.trace()),
        overlay_(overlay),
        slices_(to, overlay != nullptr ? &overlay->is_critical : nullptr),
        has_process_(trace_.processes().size()) {}

  void write() {
    to_.text() = "{\n";
    write_chrome_header(to_);
    to_.key("traceEvents");
    to_.text() += '[';
    for (const Track& track : trace_.tracks()) {
      if (!to_.ok()) break;
      write_process(track.process);
      if (track.kind == TrackKind::kCounter) {
        write_counter(track);
      } else {
        slices_.write(track);
      }
    }
    for (uint32_t process = 0; process < trace_.processes().size(); ++process) {
      write_process(process);
    }
    write_flows();
    write_overlay();
    write_allocations();
    if (to_.adds_kineto_fields()) write_recording_span();
    to_.text() += "\n]";
    write_samples();
    to_.text() += "\n}\n";
    to_.finish();
  }

 private:
  // Once per process, before the first of its tracks: readers number processes as they meet them.
  void write_process(uint32_t number) {
    if (has_process_[number]) return;
    has_process_[number] = true;
    const Process& process = trace_.processes()[number];
    const bool is_recording = to_.adds_kineto_fields();
    const auto begin = [&](std::string_view name) {
      to_.begin_event("M");
      to_.field("name", name);
      to_.process(number);
      to_.begin_args();
    };
    if (process.name != kEmptyString) {
      begin("process_name");
      to_.arg("name", trace_.string(process.name));
      to_.end_event();
    }
    if (process.labels != kEmptyString || is_recording) {
      begin("process_labels");
      to_.arg("labels", is_recording ? "CPU" : trace_.string(process.labels));
      to_.end_event();
    }
    if (process.has_sort_index || is_recording) {
      begin("process_sort_index");
      to_.arg_int("sort_index", process.has_sort_index ? process.sort_index : number);
      to_.end_event();
    }
  }

  void write_counter(const Track& track) {
    const CounterColumns& counters = trace_.counters();
    for (uint64_t i = 0; i < track.value_count && to_.ok(); ++i) {
      const uint64_t at = track.first_value + i;
      to_.begin_event("C");
      to_.field("name", trace_.string(track.name));
      to_.process(track.process);
      to_.field_us("ts", counters.time_ns[at]);
      to_.begin_args();
      to_.arg_key(trace_.string(track.series));
      json::append_double(to_.text(), counters.value[at]);
      to_.end_event();
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
    for (size_t i = 0; i < count && to_.ok(); ++i) {
      if (i == 0 || !goes_on(i - 1, i)) {
        scope = chains_of_id[{flows.label[i], flows.id[i]}]++;
        flow_point("s", i, scope, flows.from[i], flows.from_ns[i]);
        to_.end_event();
      }
      const bool has_next = i + 1 < count && goes_on(i, i + 1);
      flow_point(has_next ? "t" : "f", i, scope, flows.to[i], flows.to_ns[i]);
      if (open[i] == flows.to[i]) to_.field("bp", "e");
      to_.end_event();
    }
  }

  void flow_point(std::string_view phase, size_t flow, uint32_t scope, SliceId slice,
                  int64_t time_ns) {
    to_.begin_event(phase);
    to_.field_uint("id", trace_.flows().id[flow]);
    if (scope != 0) to_.field("scope", std::to_string(scope));
    to_.label(trace_.flows().label[flow]);
    to_.thread(trace_.tracks()[index(trace_.find_track_of(slice))]);
    to_.field_us("ts", time_ns);
  }

  void write_overlay() {
    if (overlay_ == nullptr) return;
    uint64_t id = 0;
    for (const ChromeOverlay::Arrow& arrow : overlay_->arrows) {
      if (!to_.ok()) return;
      for (const bool is_begin : {true, false}) {
        to_.begin_event(is_begin ? "s" : "f");
        to_.field_uint("id", id);
        to_.thread(trace_.tracks()[index(trace_.find_track_of(is_begin ? arrow.from : arrow.to))]);
        to_.field_us("ts", is_begin ? arrow.from_ns : arrow.to_ns);
        to_.field("cat", "critical_path");
        to_.field("name", "critical_path");
        if (!is_begin) to_.field("bp", "e");
        to_.begin_args();
        to_.arg_key("weight");
        json::append_us(to_.text(), arrow.weight_ns);
        to_.arg_key("critical");
        to_.text() += "true";
        to_.arg("type", arrow.type);
        to_.end_event();
      }
      ++id;
    }
  }

  void write_allocations() {
    const AllocationColumns& allocations = trace_.allocations();
    for (size_t i = 0; i < allocations.time_ns.size() && to_.ok(); ++i) {
      to_.begin_event("i");
      to_.field("cat", "cpu_instant_event");
      to_.field("s", "t");
      to_.field("name", "[memory]");
      to_.thread(trace_.tracks()[index(allocations.track[i])]);
      to_.field_us("ts", allocations.time_ns[i]);
      to_.begin_args();
      if (allocations.total_reserved_bytes[i] >= 0) {
        to_.arg_int("Total Reserved", allocations.total_reserved_bytes[i]);
      }
      if (allocations.total_allocated_bytes[i] >= 0) {
        to_.arg_int("Total Allocated", allocations.total_allocated_bytes[i]);
      }
      to_.arg_int("Bytes", allocations.bytes[i]);
      to_.arg_key("Addr");
      json::append_uint(to_.text(), allocations.address[i]);
      to_.arg_int("Device Id", allocations.device_id[i]);
      to_.arg_int("Device Type", allocations.device_type[i]);
      to_.end_event();
    }
  }

  // The recording as a whole, under the names that readers look for.
  void write_recording_span() {
    to_.begin_event("X");
    to_.field("cat", kineto_category(SliceKind::kSpan));
    to_.field("name", "PyTorch Profiler (0)");
    to_.field("pid", "Spans");
    to_.field("tid", "PyTorch Profiler");
    to_.field_us("ts", trace_.begin_ns());
    to_.field_us("dur", trace_.end_ns() - trace_.begin_ns());
    to_.end_event();
  }

  void write_samples() {
    if (trace_.samples().time_ns.empty()) return;
    std::string& text = to_.text();
    to_.key("stackFrames");
    text += '{';
    for (uint32_t i = 0; i < trace_.stacks().size() && to_.ok(); ++i) {
      const StackNode& node = trace_.stacks()[i];
      text += i == 0 ? "\n\"" : ",\n\"";
      json::append_int(text, i);
      text += "\":{\"name\":";
      const Frame frame = node.frame == kNoFrame ? Frame{} : trace_.frames()[index(node.frame)];
      json::append_string(text, trace_.string(frame.name));
      to_.field("category", trace_.string(frame.file));
      if (frame.line != 0) to_.field_int("line", frame.line);
      if (node.parent != kNoStack) to_.field("parent", std::to_string(index(node.parent)));
      to_.end_event();
      to_.flush_if_full();
    }
    text += "\n}";
    to_.key("samples");
    text += '[';
    const SampleColumns& samples = trace_.samples();
    for (size_t i = 0; i < samples.time_ns.size() && to_.ok(); ++i) {
      text += i == 0 ? "\n{\"name\":\"sample\"" : ",\n{\"name\":\"sample\"";
      to_.thread(trace_.tracks()[index(samples.track[i])]);
      to_.field_us("ts", samples.time_ns[i]);
      if (samples.stack[i] != kNoStack) to_.field("sf", std::to_string(index(samples.stack[i])));
      to_.field_us("weight", samples.weight_ns[i]);
      to_.end_event();
      to_.flush_if_full();
    }
    text += "\n]";
  }

  ChromeEventText& to_;
  const Trace& trace_;
  const ChromeOverlay* overlay_;  // null: none
  ChromeSlices slices_;
  std::vector<bool> has_process_;  // written already
};

}  // namespace

void write_chrome_json(const Trace& trace, ChromeJsonLayout layout, OutputFile& out,
                       const ChromeOverlay* overlay) {
  ChromeEventText to(trace, layout, out);
  ChromeJsonWriter(to, overlay).write();
}

}  // namespace stepscope
