#include "advise/step_replay.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analyze/int_args.h"
#include "analyze/intervals.h"
#include "analyze/steady_steps.h"
#include "analyze/sync_calls.h"

namespace stepscope {
namespace {

constexpr uint32_t kMostSlices = 50'000;  // of the training thread: more steps tell no more
// Waiting that is shorter than this needs no explanation.
constexpr int64_t kShortWaitNs = 5'000;
// From the end of work on one stream to the begin of what waited for it on another.
constexpr int64_t kEventDelayNs = 20'000;

bool is_wait(const Trace& trace, const Label& label) {
  return label.kind == SliceKind::kRuntime && is_sync_call(trace.string(label.name));
}

// The first row of a track that begins at or after a moment.
uint32_t find_row(const Trace& trace, const Track& track, int64_t time_ns) {
  const auto all = trace.slices().start_ns.begin() + track.first_slice;
  const auto at = std::lower_bound(all, all + track.slice_count, time_ns);
  return static_cast<uint32_t>(at - trace.slices().start_ns.begin());
}

}  // namespace

class StepReplay::Builder {
 public:
  Builder(const Trace& trace, const TrainingThread& thread, std::span<const Step> steps,
          StepReplay& out)
      : trace_(trace),
        slices_(trace.slices()),
        thread_(thread),
        begin_ns_(steps.front().scope.begin_ns),
        end_ns_(steps.back().scope.end_ns),
        out_(out) {
    for (const Label& label : trace.labels().all()) is_wait_.push_back(is_wait(trace, label));
  }

  void run() {
    build_chain();
    find_calls();
    find_device_work();
    explain_begins();
    find_awaited();
  }

 private:
  struct Call {  // of the runtime
    int64_t correlation = 0;
    SliceId slice = kNoSlice;
  };

  static constexpr uint32_t kNone = StepReplay::kNone;

  // What keeps a thread busy by itself; anything else may only be waiting for another thread.
  bool is_work(SliceId slice) const {
    if (slice == kNoSlice) return false;
    const LabelId label = slices_.label[index(slice)];
    const SliceKind kind = trace_.labels()[label].kind;
    if (kind == SliceKind::kRuntime) return true;
    const TrainingRole role = thread_.role(label);
    return role == TrainingRole::kInput ||
           (kind == SliceKind::kOperator && role != TrainingRole::kOptimizerStep &&
            role != TrainingRole::kZeroGrad && role != TrainingRole::kForward);
  }

  // A thread's time, cut where the innermost slice changes.
  std::vector<Segment> cut(const Track& track) {
    std::vector<Segment> segments;
    const uint32_t first = find_row(trace_, track, begin_ns_);
    const uint32_t last = find_row(trace_, track, end_ns_);
    out_.rows_.push_back({first, last});
    std::vector<uint32_t> open;
    int64_t now_ns = begin_ns_;
    const auto pass = [&](int64_t to_ns) {
      to_ns = std::min(to_ns, end_ns_);
      if (to_ns <= now_ns) return;
      segments.push_back({now_ns, to_ns, open.empty() ? kNoSlice : SliceId{open.back()}});
      now_ns = to_ns;
    };
    if (first < track.first_slice + track.slice_count) {
      for (SliceId at = slices_.parent[first]; at != kNoSlice; at = slices_.parent[index(at)]) {
        open.push_back(index(at));
      }
      std::reverse(open.begin(), open.end());
    }
    for (uint32_t row = first; row < last; ++row) {
      if (slices_.dur_ns[row] == 0) continue;
      const int64_t start_ns = slices_.start_ns[row];
      while (!open.empty() && slices_.end_ns(open.back()) <= start_ns) {
        pass(slices_.end_ns(open.back()));
        open.pop_back();
      }
      pass(start_ns);
      // One that overlaps in part ends here.
      while (!open.empty() && SliceId{open.back()} != slices_.parent[row]) open.pop_back();
      open.push_back(row);
    }
    while (!open.empty()) {
      pass(slices_.end_ns(open.back()));
      open.pop_back();
    }
    pass(end_ns_);
    return segments;
  }

  bool is_engine_thread(const Track& track) const {
    const uint32_t last = find_row(trace_, track, end_ns_);
    for (uint32_t row = find_row(trace_, track, begin_ns_); row < last; ++row) {
      if (thread_.role(slices_.label[row]) == TrainingRole::kBackwardNode) return true;
    }
    return false;
  }

  void build_chain() {
    const Track& own = trace_.tracks()[index(*thread_.track())];
    std::vector<Segment> chain = cut(own);
    for (uint32_t i = 0; i < trace_.tracks().size(); ++i) {
      const Track& track = trace_.tracks()[i];
      if (track.kind != TrackKind::kThread || track.process != own.process) continue;
      if (TrackId{i} == *thread_.track() || !is_engine_thread(track)) continue;
      chain = fill_in(chain, cut(track));
    }
    for (Segment& segment : chain) {
      segment.is_wait = segment.slice != kNoSlice &&
                        is_wait_[index(slices_.label[index(segment.slice)])] &&
                        segment.end_ns == std::min(end_ns_, slices_.end_ns(index(segment.slice)));
    }
    out_.segments_ = std::move(chain);
  }

  // What the other thread works on where the chain does not work.
  std::vector<Segment> fill_in(const std::vector<Segment>& chain,
                               const std::vector<Segment>& other) const {
    std::vector<Segment> filled;
    filled.reserve(chain.size() + other.size());
    size_t at = 0;
    for (const Segment& segment : chain) {
      while (at < other.size() && other[at].end_ns <= segment.begin_ns) ++at;
      if (is_work(segment.slice)) {
        filled.push_back(segment);
        continue;
      }
      int64_t now_ns = segment.begin_ns;
      for (size_t i = at; i < other.size() && other[i].begin_ns < segment.end_ns; ++i) {
        if (!is_work(other[i].slice)) continue;
        const int64_t begin_ns = std::max(other[i].begin_ns, now_ns);
        const int64_t end_ns = std::min(other[i].end_ns, segment.end_ns);
        if (begin_ns > now_ns) filled.push_back({now_ns, begin_ns, segment.slice});
        if (end_ns > begin_ns) filled.push_back({begin_ns, end_ns, other[i].slice});
        now_ns = std::max(now_ns, end_ns);
      }
      if (segment.end_ns > now_ns) filled.push_back({now_ns, segment.end_ns, segment.slice});
    }
    return filled;
  }

  // Of all threads of the process.
  void find_calls() {
    const uint32_t process = trace_.tracks()[index(*thread_.track())].process;
    for (const Track& track : trace_.tracks()) {
      if (track.kind != TrackKind::kThread || track.process != process) continue;
      const uint32_t first = find_row(trace_, track, begin_ns_);
      const uint32_t last = find_row(trace_, track, end_ns_);
      IntArgs correlations(trace_, "correlation", first);
      for (uint32_t row = first; row < last; ++row) {
        if (trace_.labels()[slices_.label[row]].kind != SliceKind::kRuntime) continue;
        if (slices_.end_ns(row) > end_ns_) continue;  // no step's, as in StepSpans
        if (const auto id = correlations.find(row); id && *id != 0) {
          calls_.push_back({*id, SliceId{row}});
        }
      }
    }
    std::stable_sort(calls_.begin(), calls_.end(),
                     [](const Call& a, const Call& b) { return a.correlation < b.correlation; });
  }

  SliceId find_call(int64_t correlation) const {
    const auto at = std::lower_bound(
        calls_.begin(), calls_.end(), correlation,
        [](const Call& call, int64_t wanted) { return call.correlation < wanted; });
    return at == calls_.end() || at->correlation != correlation ? kNoSlice : at->slice;
  }

  void find_device_work() {
    for (const Track& track : trace_.tracks()) {
      if (track.kind == TrackKind::kStream) find_device_work_of(track, streams_++);
    }
    const auto begins_before = [](const auto& a, const auto& b) {
      return a.first.start_ns < b.first.start_ns;
    };
    std::stable_sort(found_.begin(), found_.end(), begins_before);
    std::vector<uint32_t> last_of_stream(streams_, kNone);
    out_.work_.reserve(found_.size());
    for (auto& [work, stream] : found_) {
      work.before = std::exchange(last_of_stream[stream], static_cast<uint32_t>(out_.work_.size()));
      out_.work_.push_back(work);
      stream_of_.push_back(stream);
    }
  }

  void find_device_work_of(const Track& track, uint32_t stream) {
    // What was launched in time may run late, but not later than what comes in between.
    const uint32_t last = track.first_slice + track.slice_count;
    uint32_t first = find_row(trace_, track, begin_ns_);
    if (first > track.first_slice && slices_.end_ns(first - 1) > begin_ns_) --first;
    IntArgs correlations(trace_, "correlation", first);
    bool has_begun = false;
    for (uint32_t row = first; row < last; ++row) {
      if (!is_device_work(trace_.labels()[slices_.label[row]].kind)) continue;
      DeviceWork work;
      work.slice = SliceId{row};
      work.start_ns = slices_.start_ns[row];
      work.dur_ns = slices_.dur_ns[row];
      const auto id = correlations.find(row);
      if (id && *id != 0) work.call = find_call(*id);
      if (work.call != kNoSlice) {
        has_begun = true;
        work.launch_ns = std::min(work.start_ns, slices_.start_ns[index(work.call)]);
      } else {
        if (work.start_ns >= end_ns_) break;
        work.is_fixed = !has_begun && !calls_.empty();
        work.launch_ns = work.start_ns;
      }
      found_.emplace_back(work, stream);
    }
  }

  // The latency of a launch to an idle stream: shorter ones are rare, longer ones waited.
  int64_t find_latency_ns() const {
    std::vector<int64_t> latencies;
    for (const DeviceWork& work : out_.work_) {
      if (work.call == kNoSlice) continue;
      if (work.before != kNone && out_.work_[work.before].end_ns() > work.launch_ns) continue;
      latencies.push_back(work.start_ns - work.launch_ns);
    }
    if (latencies.empty()) return 0;
    const auto low = latencies.begin() + static_cast<ptrdiff_t>(latencies.size() / 10);
    std::nth_element(latencies.begin(), low, latencies.end());
    return *low;
  }

  void explain_begins() {
    const int64_t latency_ns = find_latency_ns();
    std::vector<uint32_t> last_of_stream(streams_, kNone);
    for (uint32_t i = 0; i < out_.work_.size(); ++i) {
      DeviceWork& work = out_.work_[i];
      work.latency_ns = std::min(latency_ns, work.start_ns - work.launch_ns);
      int64_t ready_ns = work.launch_ns + work.latency_ns;
      if (work.before != kNone) ready_ns = std::max(ready_ns, out_.work_[work.before].end_ns());
      if (work.start_ns - ready_ns > kShortWaitNs) {
        for (const uint32_t last : last_of_stream) {
          if (last == kNone || last == work.before) continue;
          const int64_t end_ns = out_.work_[last].end_ns();
          if (end_ns > work.start_ns) continue;
          if (end_ns <= ready_ns || work.start_ns - end_ns > kEventDelayNs) continue;
          ready_ns = end_ns;
          work.other = last;
        }
      }
      work.unexplained_ns = work.start_ns - ready_ns;
      last_of_stream[stream_of_[i]] = i;
      out_.launches_.push_back(i);
    }
    std::stable_sort(out_.launches_.begin(), out_.launches_.end(), [&](uint32_t a, uint32_t b) {
      return out_.work_[a].launch_ns < out_.work_[b].launch_ns;
    });
  }

  // Calls that end after the work that they launched waited for it, unless that was short.
  void find_awaited() {
    std::unordered_map<uint32_t, uint32_t> work_of_call;
    std::vector<std::pair<int64_t, uint32_t>> ends;
    for (uint32_t i = 0; i < out_.work_.size(); ++i) {
      const DeviceWork& work = out_.work_[i];
      ends.emplace_back(work.end_ns(), i);
      if (work.call == kNoSlice || work.end_ns() > slices_.end_ns(index(work.call))) continue;
      if (trace_.labels()[slices_.label[index(work.slice)]].kind != SliceKind::kMemcpy) continue;
      work_of_call.insert_or_assign(index(work.call), i);
    }
    std::sort(ends.begin(), ends.end());
    size_t at = 0;
    uint32_t latest = kNone;
    for (Segment& segment : out_.segments_) {
      while (at < ends.size() && ends[at].first <= segment.end_ns) latest = ends[at++].second;
      if (segment.is_wait) {
        segment.awaited = latest;
      } else if (segment.slice != kNoSlice) {
        const auto own = work_of_call.find(index(segment.slice));
        if (own == work_of_call.end()) continue;
        if (segment.end_ns != slices_.end_ns(own->first)) continue;
        segment.is_wait = true;
        segment.awaited = own->second;
      }
    }
  }

  const Trace& trace_;
  const SliceColumns& slices_;
  const TrainingThread& thread_;
  int64_t begin_ns_;
  int64_t end_ns_;
  StepReplay& out_;
  std::vector<bool> is_wait_;  // by label
  std::vector<Call> calls_;    // by correlation
  uint32_t streams_ = 0;
  std::vector<std::pair<DeviceWork, uint32_t>> found_;  // with its stream
  std::vector<uint32_t> stream_of_;                     // by work
};

class StepReplay::Run {
 public:
  Run(const StepReplay& replay, const WhatIf& what_if)
      : replay_(replay),
        slices_(what_if.trace.slices()),
        what_if_(what_if),
        launched_ns_(replay.work_.size()),
        ended_ns_(replay.work_.size()) {
    const auto is_set = [](float left) { return left != 1; };
    scales_host_ = std::any_of(what_if.host.begin(), what_if.host.end(), is_set);
    scales_launched_ = std::any_of(what_if.launched.begin(), what_if.launched.end(), is_set);
    if (scales_host_) find_left_by_row();
  }

  // Until the last step and its device work are over.
  int64_t run() {
    int64_t now_ns = replay_.begin_ns_;
    for (const Segment& segment : replay_.segments_) {
      const float left = left_of(segment.slice);
      launch_and_work(segment, now_ns, left);
      if (!segment.is_wait || left == 0) {
        now_ns += scaled(segment.end_ns - segment.begin_ns, left);
        continue;
      }
      int64_t own_ns = segment.end_ns - segment.begin_ns;
      if (segment.awaited != kNone) {
        const DeviceWork& awaited = replay_.work_[segment.awaited];
        own_ns = segment.end_ns - std::max(segment.begin_ns, awaited.end_ns());
        now_ns = std::max(now_ns, ended_ns_[segment.awaited]);
      }
      now_ns += scaled(own_ns, left);
    }
    int64_t end_ns = now_ns;
    while (next_launch_ < replay_.launches_.size()) launch(now_ns);
    while (next_work_ < replay_.work_.size()) work();
    for (uint32_t i = 0; i < replay_.work_.size(); ++i) {
      if (replay_.work_[i].call != kNoSlice) end_ns = std::max(end_ns, ended_ns_[i]);
    }
    return end_ns;
  }

 private:
  static int64_t scaled(int64_t ns, float left) {
    return left == 1 ? ns : static_cast<int64_t>(static_cast<double>(ns) * double{left});
  }

  // Causes were recorded before what they caused: in that order everything is known when needed.
  void launch_and_work(const Segment& segment, int64_t now_ns, float left) {
    while (true) {
      const int64_t launch_ns = next_launch_ < replay_.launches_.size()
                                    ? replay_.work_[replay_.launches_[next_launch_]].launch_ns
                                    : INT64_MAX;
      const int64_t start_ns =
          next_work_ < replay_.work_.size() ? replay_.work_[next_work_].start_ns : INT64_MAX;
      if (std::min(launch_ns, start_ns) >= segment.end_ns) return;
      if (launch_ns <= start_ns) {
        const int64_t into_ns = std::max<int64_t>(0, launch_ns - segment.begin_ns);
        launch(now_ns + scaled(into_ns, left));
      } else {
        work();
      }
    }
  }

  void launch(int64_t now_ns) {
    const uint32_t at = replay_.launches_[next_launch_++];
    const DeviceWork& work = replay_.work_[at];
    launched_ns_[at] = work.is_fixed ? work.launch_ns : now_ns;
  }

  void work() {
    const DeviceWork& work = replay_.work_[next_work_];
    int64_t ready_ns = launched_ns_[next_work_] + work.latency_ns;
    if (work.before != kNone) ready_ns = std::max(ready_ns, ended_ns_[work.before]);
    if (work.other != kNone) ready_ns = std::max(ready_ns, ended_ns_[work.other]);
    float left = what_if_.device[index(slices_.label[index(work.slice)])];
    if (scales_launched_) left *= left_of_launched(work.call);
    ended_ns_[next_work_++] = ready_ns + work.unexplained_ns + scaled(work.dur_ns, left);
  }

  // The innermost around a call that is not 1.
  float left_of_launched(SliceId call) const {
    for (SliceId at = call; at != kNoSlice; at = slices_.parent[index(at)]) {
      const float left = what_if_.launched[index(slices_.label[index(at)])];
      if (left != 1) return left;
    }
    return 1;
  }

  float left_of(SliceId slice) const {
    if (slice == kNoSlice) return what_if_.nothing;
    if (!scales_host_) return 1;
    const uint32_t row = index(slice);
    for (size_t i = 0; i < replay_.rows_.size(); ++i) {
      const Rows& rows = replay_.rows_[i];
      if (row >= rows.first && row < rows.last) return left_by_row_[i][row - rows.first];
    }
    return left_of_outer(slice);
  }

  float left_of_outer(SliceId slice) const {
    for (SliceId at = slice; at != kNoSlice; at = slices_.parent[index(at)]) {
      const float left = what_if_.host[index(slices_.label[index(at)])];
      if (left != 1) return left;
    }
    return 1;
  }

  // Rows come after those that hold them.
  void find_left_by_row() {
    for (const Rows& rows : replay_.rows_) {
      std::vector<float>& left = left_by_row_.emplace_back(rows.last - rows.first, 1);
      SliceId known = kNoSlice;  // of those before the first row, the last that was asked for
      float known_left = 1;
      for (uint32_t row = rows.first; row < rows.last; ++row) {
        const float own = what_if_.host[index(slices_.label[row])];
        const SliceId parent = slices_.parent[row];
        if (own != 1) {
          left[row - rows.first] = own;
        } else if (parent != kNoSlice && index(parent) >= rows.first) {
          left[row - rows.first] = left[index(parent) - rows.first];
        } else if (parent != kNoSlice) {
          if (parent != known) known_left = left_of_outer(known = parent);
          left[row - rows.first] = known_left;
        }
      }
    }
  }

  const StepReplay& replay_;
  const SliceColumns& slices_;
  const WhatIf& what_if_;
  bool scales_host_ = false;
  bool scales_launched_ = false;
  std::vector<std::vector<float>> left_by_row_;  // as rows_
  std::vector<int64_t> launched_ns_;             // by work
  std::vector<int64_t> ended_ns_;                // by work
  size_t next_launch_ = 0;
  size_t next_work_ = 0;
};

std::shared_ptr<const StepReplay> StepReplay::of(const Trace& trace) {
  return trace.derived().get<StepReplay>("step replay", [&] {
    const auto thread = TrainingThread::of(trace);
    std::vector<Step> steps = SteadySteps::find(trace, *StepSpans::of(trace)).steps;
    if (thread->track()) {
      const Track& track = trace.tracks()[index(*thread->track())];
      if (StepSpans::of(trace)->origin == StepOrigin::kScopes) {
        std::erase_if(steps, [&](const Step& step) { return step.process != track.process; });
      }
      const uint32_t first =
          steps.empty() ? 0 : find_row(trace, track, steps.front().scope.begin_ns);
      while (steps.size() > 1 &&
             find_row(trace, track, steps.back().scope.end_ns) - first > kMostSlices) {
        steps.pop_back();
      }
    }
    return StepReplay(trace, *thread, steps);
  });
}

StepReplay::StepReplay(const Trace& trace, const TrainingThread& thread,
                       std::span<const Step> steps) {
  if (steps.empty() || !thread.track()) return;
  steps_ = steps.size();
  begin_ns_ = steps.front().scope.begin_ns;
  counts_from_ns_ = std::max(begin_ns_, steps.front().span.begin_ns);
  Builder(trace, thread, steps, *this).run();
  step_ns_ = step_ns(WhatIf(trace));
}

int64_t StepReplay::step_ns(const WhatIf& what_if) const {
  if (empty()) return 0;
  const int64_t ns = Run(*this, what_if).run() - counts_from_ns_;
  return std::max<int64_t>(0, ns) / static_cast<int64_t>(steps_);
}

double StepReplay::saved(int64_t before_ns, int64_t after_ns) const {
  if (step_ns_ <= 0) return 0;
  const double saved = static_cast<double>(before_ns - after_ns) / static_cast<double>(step_ns_);
  return std::clamp(saved, 0.0, 1.0);
}

}  // namespace stepscope
