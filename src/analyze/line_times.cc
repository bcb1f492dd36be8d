#include "analyze/line_times.h"

#include <algorithm>

#include "analyze/user_code.h"
#include "base/flat_map.h"
#include "base/saturating.h"
#include "trace/sample_weights.h"
#include "trace/stack_walk.h"

namespace stepscope {
namespace {

// Where a process of multiprocessing begins. A forked one still has its parent's frames around it,
// which say nothing of what it does.
bool begins_process(std::string_view name, std::string_view file) {
  return name.ends_with("_bootstrap") && file.ends_with("multiprocessing/process.py");
}

// By stack: the node of the innermost function of the program's own; kNoParent where there is none.
std::vector<uint32_t> find_own_nodes(const Trace& trace) {
  const std::span<const StackNode> stacks = trace.stacks();
  std::vector<bool> is_own, is_begin;
  for (const Frame& frame : trace.frames()) {
    const std::string_view name = trace.string(frame.name), file = trace.string(frame.file);
    is_own.push_back(!is_comprehension_name(name) && !is_library_file(file));
    is_begin.push_back(begins_process(name, file));
  }
  std::vector<uint32_t> own(stacks.size(), kNoParent);
  for (uint32_t i = 0; i < stacks.size(); ++i) {
    const uint32_t frame = index(stacks[i].frame);
    const uint32_t parent = parent_of_stack(stacks, i);
    const bool is_known = frame < is_own.size();
    if (is_known && is_begin[frame]) continue;
    own[i] = is_known && is_own[frame] ? i : parent == kNoParent ? kNoParent : own[parent];
  }
  return own;
}

bool is_main_thread(const Trace& trace, TrackId id) {
  const Track& track = trace.tracks()[index(id)];
  return track.tid.number == trace.processes()[track.process].pid.number;
}

}  // namespace

LineTimes::LineTimes(const Trace& trace, const SliceScope& scope) : trace_(trace) {
  add(functions_are_sampled(trace) ? trace.samples() : trace.line_samples(), scope);
  std::stable_sort(lines_.begin(), lines_.end(), [](const LineTime& a, const LineTime& b) {
    return a.total_ns() > b.total_ns();
  });
}

void LineTimes::add(const SampleColumns& samples, const SliceScope& scope) {
  if (samples.size() == 0) return;
  knows_state_ = !samples.flags.empty();
  const std::vector<uint32_t> own = find_own_nodes(trace_);
  FlatMap numbers;
  for (size_t i = 0; i < samples.size(); ++i) {
    const TrackId track = samples.track[i];
    if (index(track) >= trace_.tracks().size() || !scope.takes_track(track)) continue;
    if (!scope.takes_time(samples.time_ns[i])) continue;
    const uint8_t flags = samples.get_flags(i);
    const bool waited = (flags & kSampleWaited) != 0;
    if (waited && !is_main_thread(trace_, track)) continue;
    const uint32_t stack = index(samples.stack[i]);
    const uint32_t node = stack < own.size() ? own[stack] : kNoParent;
    if (waited && node == kNoParent) continue;  // a worker that has nothing to do
    const int64_t ns = std::max<int64_t>(0, samples.weight_ns[i]);
    total_ns_ = add_saturating(total_ns_, ns);
    looks_ += samples.get_count(i);
    if (node == kNoParent) continue;
    const StackNode& place = trace_.stacks()[node];
    const uint64_t key = uint64_t{index(place.frame)} << 32 | static_cast<uint32_t>(place.line);
    const auto number = numbers.try_emplace(key, static_cast<uint32_t>(lines_.size()));
    if (number.is_new) lines_.push_back({.function = place.frame, .line = place.line});
    LineTime& line = lines_[number.value];
    line.looks += samples.get_count(i);
    const bool is_python = !knows_state_ || (flags & kSampleHeldGil) != 0;
    int64_t& sum = waited ? line.waiting_ns : is_python ? line.python_ns : line.native_ns;
    sum = add_saturating(sum, ns);
  }
}

std::vector<LineTime> LineTimes::of(const FunctionName& function) const {
  std::vector<LineTime> found;
  for (const LineTime& line : lines_) {
    const Frame& frame = trace_.frames()[index(line.function)];
    if (frame.line == function.line && trace_.string(frame.file) == function.file) {
      found.push_back(line);
    }
  }
  return found;
}

}  // namespace stepscope
