#include "export/megengine_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/saturating.h"
#include "export/output_file.h"
#include "export/trace_event_text.h"
#include "trace/allocation_lifetimes.h"

namespace stepscope {
namespace {

constexpr int64_t kWorker = 0;
constexpr int64_t kInterpreter = 1;
constexpr int64_t kFirstOther = 2;
constexpr uint32_t kNone = UINT32_MAX;

// What MegEngine calls a scope: the module's own name, backward, step, clear_grad.
std::string_view scope_name(std::string_view name) {
  constexpr std::string_view kModule = "nn.Module: ";
  if (name.starts_with("Optimizer.step#")) return "step";
  if (name.starts_with("Optimizer.zero_grad#")) return "clear_grad";
  if (!name.starts_with(kModule)) return name;
  name.remove_prefix(kModule.size());
  name = name.substr(0, name.find(" ("));
  return name.substr(name.rfind('.') + 1);  // npos + 1 is 0
}

// As MegEngine numbers them: "cpu0:0", "gpu1:7".
std::string device_title(const AllocationDevice& device) {
  const bool is_host = device.type == 0;
  return fmt::format("{}{}:0", is_host ? "cpu" : "gpu", std::max<int>(0, device.id));
}

// Of time that several may cover, all together.
int64_t covered_ns(std::vector<std::pair<int64_t, int64_t>>& intervals) {
  std::sort(intervals.begin(), intervals.end());
  int64_t covered = 0;
  int64_t until = INT64_MIN;
  for (const auto& [begin, end] : intervals) {
    if (end <= until) continue;
    covered = add_saturating(covered, subtract_saturating(end, std::max(begin, until)));
    until = end;
  }
  return covered;
}

class TimelineWriter {
 public:
  TimelineWriter(const Trace& trace, OutputFile& out)
      : trace_(trace),
        to_(out),
        has_device_(trace.find_metadata(kMegEngineNoDevice) != "1"),
        has_streams_(
            std::any_of(trace.tracks().begin(), trace.tracks().end(), [](const Track& track) {
              return track.kind == TrackKind::kStream && track.slice_count > 0;
            })) {
    const std::string_view rate = trace.find_metadata(kMegEngineSampleRate);
    int64_t value = 0;
    if (std::from_chars(rate.data(), rate.data() + rate.size(), value).ec == std::errc()) {
      sample_rate_ = value;
    }
  }

  void write() {
    to_.text() += "{";
    to_.key("traceEvents");
    to_.text() += "[";
    // Several recordings of one process are one.
    std::map<int64_t, std::vector<uint8_t>> processes;
    for (uint32_t i = 0; i < trace_.processes().size(); ++i) {
      std::vector<uint8_t>& members = processes[trace_.processes()[i].pid.number];
      members.resize(trace_.processes().size());
      members[i] = 1;
    }
    for (auto& [pid, members] : processes) {
      is_member_ = std::move(members);
      write_process(pid);
    }
    to_.text() += "\n]";
    to_.key("metadata");
    // As a text: it has more digits than a double.
    to_.text() += fmt::format("{{\"localTime\": \"{}\"}}",
                              add_saturating(trace_.clock_base_ns(), trace_.begin_ns()));
    to_.text() += "}\n";
    to_.finish();
  }

 private:
  struct Place {
    int64_t pid = 0;
    int64_t tid = 0;
  };

  bool is_of_process(const Track& track) const { return is_member_[track.process] != 0; }

  void write_process(int64_t pid) {
    const Track* first = find_first_thread(pid);
    next_tid_ = kFirstOther;
    device_intervals_.clear();
    cpu_device_ = {};
    if (first != nullptr) {
      name_thread({pid, kInterpreter}, "interpreter");
      name_thread({pid, kWorker}, "worker");
      if (has_device_ && !has_streams_) {
        cpu_device_ = {pid, next_tid_++};
        name_thread(*cpu_device_, "cpu0:0");
      }
    }
    for (const Track& track : trace_.tracks()) {
      if (!is_of_process(track) || track.slice_count == 0 || !to_.ok()) continue;
      if (track.kind == TrackKind::kThread) {
        write_thread(track, pid, first->tid == track.tid);
      } else if (track.kind == TrackKind::kStream && has_device_) {
        write_stream(track, pid);
      }
    }
    if (first != nullptr) {
      write_memory(pid);
      write_ratios(pid);
    }
  }

  // The one that the program begins with, else the one that does most.
  const Track* find_first_thread(int64_t pid) const {
    const Track* found = nullptr;
    for (const Track& track : trace_.tracks()) {
      if (!is_of_process(track) || track.kind != TrackKind::kThread) continue;
      if (track.slice_count == 0) continue;
      if (track.tid.number == pid) return &track;
      if (found == nullptr || track.slice_count > found->slice_count) found = &track;
    }
    return found;
  }

  void name_thread(Place place, std::string_view name) {
    to_.begin_event("M");
    to_.field("name", "thread_name");
    write_place(place);
    to_.begin_args();
    to_.arg("name", name);
    to_.end_event();
  }

  void write_place(Place place) {
    to_.field_int("pid", place.pid);
    to_.field_int("tid", place.tid);
  }

  void write_slice(Place place, std::string_view name, std::string_view category, int64_t start_ns,
                   int64_t dur_ns) {
    to_.begin_event("X");
    to_.field("name", name);
    if (!category.empty()) to_.field("cat", category);
    write_place(place);
    to_.field_us("ts", subtract_saturating(start_ns, trace_.begin_ns()));
    to_.field_us("dur", dur_ns);
    to_.end_event();
  }

  void write_flow(std::string_view phase, Place place, std::string_view category, uint64_t id,
                  int64_t time_ns) {
    to_.begin_event(phase);
    to_.field("name", category);
    to_.field("cat", category);
    to_.field_uint("id", id);
    write_place(place);
    to_.field_us("ts", subtract_saturating(time_ns, trace_.begin_ns()));
    if (phase == "f") to_.field("bp", "e");
    to_.end_event();
  }

  void write_counter(int64_t pid, std::string_view name, int64_t time_ns, double value) {
    to_.begin_event("C");
    to_.field("name", name);
    write_place({pid, kInterpreter});
    to_.field_us("ts", subtract_saturating(time_ns, trace_.begin_ns()));
    to_.begin_args();
    to_.arg_key("value");
    to_.text() += fmt::format("{}", value);
    to_.end_event();
  }

  // Scopes on one line, operators on another, and what the CPU computed on a third.
  void write_thread(const Track& track, int64_t pid, bool is_first) {
    const SliceColumns& slices = trace_.slices();
    Place scopes{pid, kInterpreter};
    Place operators{pid, kWorker};
    if (!is_first) {
      const std::string name(trace_.string(track.name));
      scopes.tid = next_tid_++;
      operators.tid = next_tid_++;
      name_thread(scopes, name.empty() ? trace_.id_text(track.tid) : name);
      name_thread(operators, fmt::format("worker of {}", name));
    }
    const uint32_t end = track.first_slice + track.slice_count;
    int64_t dispatched_until_ns = INT64_MIN;
    int64_t computed_until_ns = INT64_MIN;
    const std::vector<int64_t> called_ns = find_called_ns(track);
    for (uint32_t row = track.first_slice; row < end && to_.ok(); ++row) {
      const Label& label = trace_.labels()[slices.label[row]];
      const std::string_view name = trace_.string(label.name);
      const int64_t start_ns = slices.start_ns[row];
      const int64_t dur_ns = slices.dur_ns[row];
      if (label.kind == SliceKind::kInstant || label.kind == SliceKind::kSpan) continue;
      if (label.kind != SliceKind::kOperator) {
        write_slice(scopes, scope_name(name), "", start_ns, dur_ns);
        continue;
      }
      write_slice(operators, name, "", start_ns, dur_ns);
      const int64_t end_ns = add_saturating(start_ns, dur_ns);
      if (start_ns >= dispatched_until_ns) {  // called by the program, not by an operator
        dispatched_until_ns = end_ns;
        const uint64_t id = next_flow_++;
        write_slice(scopes, "OpDispatch", "", start_ns, dur_ns);
        write_flow("s", scopes, "OpDispatch", id, start_ns);
        write_flow("f", operators, "OpDispatch", id, start_ns);
        write_counter(pid, "nr_op_pending", start_ns, 1);
        write_counter(pid, "nr_op_pending", end_ns, 0);
      }
      // Where the time goes: not those that mostly call others, and nothing within the rest.
      const bool computes = called_ns[row - track.first_slice] <= dur_ns / 2;
      if (cpu_device_ && computes && start_ns >= computed_until_ns) {
        const uint64_t id = next_flow_++;
        computed_until_ns = end_ns;
        write_slice(*cpu_device_, name, "Kernel", start_ns, dur_ns);
        write_flow("s", operators, "KernelLaunch", id, start_ns);
        write_flow("f", *cpu_device_, "KernelLaunch", id, start_ns);
        device_intervals_.emplace_back(start_ns, end_ns);
      }
    }
  }

  // By row of the track: how long the operators took that an operator called. In one walk: slices
  // lie in pre-order.
  std::vector<int64_t> find_called_ns(const Track& track) const {
    const SliceColumns& slices = trace_.slices();
    std::vector<int64_t> called_ns(track.slice_count, 0);
    std::vector<uint32_t> caller(track.slice_count, kNone);  // the next operator around it
    for (uint32_t i = 0; i < track.slice_count; ++i) {
      const SliceId parent = slices.parent[track.first_slice + i];
      if (parent == kNoSlice || index(parent) < track.first_slice) continue;
      const uint32_t around = index(parent) - track.first_slice;
      caller[i] = is_operator(index(parent)) ? around : caller[around];
      if (caller[i] == kNone || !is_operator(track.first_slice + i)) continue;
      called_ns[caller[i]] =
          add_saturating(called_ns[caller[i]], slices.dur_ns[track.first_slice + i]);
    }
    return called_ns;
  }

  bool is_operator(uint32_t row) const {
    return trace_.labels()[trace_.slices().label[row]].kind == SliceKind::kOperator;
  }

  void write_stream(const Track& track, int64_t pid) {
    const Place place{pid, next_tid_++};
    name_thread(place, fmt::format("gpu{}:{}", std::max(0, track.device),
                                   std::max<int64_t>(0, track.stream)));
    const SliceColumns& slices = trace_.slices();
    for (uint32_t i = 0; i < track.slice_count && to_.ok(); ++i) {
      const uint32_t row = track.first_slice + i;
      const Label& label = trace_.labels()[slices.label[row]];
      const int64_t start_ns = slices.start_ns[row];
      write_slice(place, trace_.string(label.name),
                  is_device_work(label.kind) ? std::string_view("Kernel") : std::string_view(),
                  start_ns, slices.dur_ns[row]);
      if (is_device_work(label.kind)) {
        device_intervals_.emplace_back(start_ns, slices.end_ns(row));
      }
    }
  }

  void write_memory(int64_t pid) {
    const AllocationColumns& allocations = trace_.allocations();
    struct Held {
      int64_t bytes = 0;
      int64_t pieces = 0;
      uint64_t changes = 0;
    };
    std::map<AllocationDevice, Held> held;
    for (size_t i = 0; i < allocations.time_ns.size() && to_.ok(); ++i) {
      if (!is_of_process(trace_.tracks()[index(allocations.track[i])])) continue;
      const AllocationDevice device{allocations.device_type[i], allocations.device_id[i]};
      Held& now = held[device];
      now.bytes = add_saturating(now.bytes, allocations.bytes[i]);
      now.pieces += allocations.bytes[i] > 0 ? 1 : -1;
      const int64_t time_ns = allocations.time_ns[i];
      write_counter(pid, "nr_alive_tensor", time_ns, static_cast<double>(now.pieces));
      // The memory itself after every so many changes; with 0 at the begin only.
      const uint64_t change = now.changes++;
      const bool is_shown =
          sample_rate_ > 0 ? change % static_cast<uint64_t>(sample_rate_) == 0 : change == 0;
      if (is_shown || sample_rate_ < 0) {
        write_counter(pid, device_title(device) + "_alloc_mem", time_ns,
                      static_cast<double>(now.bytes));
      }
    }
    for (const auto& [device, now] : held) {
      write_counter(pid, device_title(device) + "_alloc_mem", trace_.end_ns(),
                    static_cast<double>(now.bytes));
    }
    for (const Track& track : trace_.tracks()) {
      if (track.kind != TrackKind::kCounter || !is_of_process(track)) continue;
      // What the collector counts in place of every change.
      const std::string_view name = trace_.string(track.name);
      const bool is_host = name == "memory of tensors, host";
      if (!is_host && name != "memory of tensors, device") continue;
      for (uint64_t i = track.first_value; i < track.first_value + track.value_count; ++i) {
        write_counter(pid, is_host ? "cpu0:0_alloc_mem" : "gpu0:0_alloc_mem",
                      trace_.counters().time_ns[i], trace_.counters().value[i]);
      }
    }
  }

  // In percent, at both ends.
  void write_ratios(int64_t pid) {
    const SliceColumns& slices = trace_.slices();
    std::vector<std::pair<int64_t, int64_t>> steps;
    for (const Track& track : trace_.tracks()) {
      if (!is_of_process(track)) continue;
      for (uint32_t i = 0; i < track.slice_count; ++i) {
        const uint32_t row = track.first_slice + i;
        if (trace_.labels()[slices.label[row]].kind != SliceKind::kStep) continue;
        steps.emplace_back(slices.start_ns[row], slices.end_ns(row));
      }
    }
    const auto span_ns =
        static_cast<double>(subtract_saturating(trace_.end_ns(), trace_.begin_ns()));
    const double train = span_ns > 0 ? static_cast<double>(covered_ns(steps)) / span_ns * 100 : 0;
    write_at_both_ends(pid, "train_time_ratio", train);
    if (device_intervals_.empty()) return;
    const auto covered = static_cast<double>(covered_ns(device_intervals_));
    int64_t last_ns = INT64_MIN;
    for (const auto& [begin, end] : device_intervals_) last_ns = std::max(last_ns, end);
    const auto used_ns =
        static_cast<double>(subtract_saturating(last_ns, device_intervals_.front().first));
    write_at_both_ends(pid, "gpu_usage_ratio", used_ns > 0 ? covered / used_ns * 100 : 0);
  }

  void write_at_both_ends(int64_t pid, std::string_view name, double value) {
    write_counter(pid, name, trace_.begin_ns(), value);
    write_counter(pid, name, trace_.end_ns(), value);
  }

  const Trace& trace_;
  TraceEventText to_;
  bool has_device_;
  bool has_streams_;
  std::vector<uint8_t> is_member_;  // by process: of the one that is written
  int64_t sample_rate_ = -1;        // < 0: every change of memory
  int64_t next_tid_ = kFirstOther;
  uint64_t next_flow_ = 1;
  std::optional<Place> cpu_device_;
  std::vector<std::pair<int64_t, int64_t>> device_intervals_;  // of the process
};

}  // namespace

Result<std::vector<std::string>> write_megengine_timeline(const Trace& trace,
                                                          const std::string& path) {
  auto out = OutputFile::create(path);
  if (!out) return out.status();
  TimelineWriter(trace, **out).write();
  if (Status status = (*out)->finish(); !status) return status;
  std::vector<std::string> left_out;
  if (trace.samples().time_ns.size() != 0) {
    left_out.push_back("samples: MegEngine's timeline has no place for them");
  }
  return left_out;
}

}  // namespace stepscope
