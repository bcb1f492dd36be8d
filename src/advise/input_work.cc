#include "advise/input_work.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "analyze/calls_of_samples.h"

namespace stepscope {
namespace {

constexpr size_t kSlicesToShow = 3;

class Finder {
 public:
  Finder(const Trace& trace, const TrainingThread& thread, const UserCode& user,
         const IntervalSet& times)
      : trace_(trace),
        thread_(thread),
        user_(user),
        times_(times),
        totals_(times),
        is_sampled_(is_made_of_samples(trace)) {
    for (const Label& label : trace.labels().all()) {
      is_fetch_.push_back(is_phase_mark(trace, label, "fetch"));
      is_collate_.push_back(is_phase_mark(trace, label, "collate"));
    }
  }

  InputWork run() {
    for (uint32_t i = 0; i < trace_.tracks().size(); ++i) {
      const Track& track = trace_.tracks()[i];
      if (track.kind == TrackKind::kThread) read_track(TrackId{i}, track);
    }
    // A batch is fetched once; how many looks found one at it says nothing.
    if (is_sampled_ && found_.fetches > 0) found_.fetches = std::max<uint64_t>(1, found_.batches);
    found_.workers = static_cast<uint32_t>(workers_.size());
    found_.has_workers = !workers_.empty();
    if (found_.fetches == 0) go_by_iterators();
    found_.waits.normalize();
    std::stable_sort(
        found_.functions.begin(), found_.functions.end(),
        [](const FunctionWork& a, const FunctionWork& b) { return a.own_ns > b.own_ns; });
    std::sort(waits_.begin(), waits_.end(), std::greater<>());
    for (size_t i = 0; i < std::min(kSlicesToShow, waits_.size()); ++i) {
      found_.longest_waits.push_back(waits_[i].second);
    }
    return std::move(found_);
  }

 private:
  void read_track(TrackId id, const Track& track) {
    const SliceColumns& slices = trace_.slices();
    const bool is_training = thread_.track() == id;
    IntervalSet fetches;
    for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
      const LabelId label = slices.label[row];
      const bool is_wait = is_training && thread_.role(label) == TrainingRole::kInput;
      const bool is_fetch = is_fetch_[index(label)];
      if (!is_wait && !is_fetch && !is_collate_[index(label)]) continue;
      const int64_t dur_ns = ns_in_times(row);
      if (dur_ns < 0) continue;
      if (is_wait && is_outermost_wait(row)) {
        ++found_.batches;
        found_.wait_ns += slices.dur_ns[row];
        found_.waits.add(slices.start_ns[row], slices.end_ns(row));
        iterators_.insert(label);
        waits_.emplace_back(slices.dur_ns[row], SliceId{row});
      } else if (is_fetch) {
        ++found_.fetches;
        found_.fetch_ns += dur_ns;
        fetches.add(slices.start_ns[row], slices.end_ns(row));
        if (is_training) found_.is_in_process = true;
        if (!is_training) workers_.insert(track.process);
      } else if (is_collate_[index(label)]) {
        read_collate(row, dur_ns);
      }
    }
    fetches.normalize();
    if (is_sampled_) fetches.intersect(times_);
    if (!fetches.empty()) add_functions(id, fetches);
  }

  // All that is known of a fetch without a worker is that it is what the thread waits for.
  void go_by_iterators() {
    for (const LabelId label : iterators_) {
      const std::string_view name = trace_.string(trace_.labels()[label].name);
      found_.is_in_process |= name.find("#_SingleProcess") != name.npos;
      found_.has_workers |= name.find("#_MultiProcessing") != name.npos;
    }
    if (found_.has_workers) found_.is_in_process = false;
    if (!found_.is_in_process) return;
    found_.fetches = found_.batches;
    found_.fetch_ns = found_.wait_ns;
  }

  bool is_outermost_wait(uint32_t row) const {
    const SliceColumns& slices = trace_.slices();
    for (SliceId at = slices.parent[row]; at != kNoSlice; at = slices.parent[index(at)]) {
      if (thread_.role(slices.label[index(at)]) == TrainingRole::kInput) return false;
    }
    return true;
  }

  // What of a slice counts; less than 0: nothing. A recorded one counts where it begins. What was
  // made of samples may be many that followed each other, and is cut to the times.
  int64_t ns_in_times(uint32_t row) const {
    const SliceColumns& slices = trace_.slices();
    const LabelId label = slices.label[row];
    const bool is_sampled = is_sampled_ && (is_fetch_[index(label)] || is_collate_[index(label)]);
    if (!is_sampled) return times_.contains(slices.start_ns[row]) ? slices.dur_ns[row] : -1;
    const int64_t ns = totals_.ns_in({slices.start_ns[row], slices.end_ns(row)});
    return ns > 0 ? ns : -1;
  }

  // The function lies within the mark.
  void read_collate(uint32_t row, int64_t dur_ns) {
    const SliceColumns& slices = trace_.slices();
    found_.collate_ns += dur_ns;
    const uint32_t inner = row + 1;
    if (inner >= slices.size() || slices.parent[inner] != SliceId{row}) return;
    found_.collate = slices.label[inner];
    found_.has_own_collate |= user_.is_user_function(slices.label[inner]);
  }

  void add_functions(TrackId id, const IntervalSet& fetches) {
    const StepWork work(trace_, thread_, user_, id, fetches);
    for (const Part part : {Part::kInput, Part::kRest}) {
      for (const FunctionWork& function : work.functions(part)) {
        const auto known =
            std::find_if(found_.functions.begin(), found_.functions.end(),
                         [&](const FunctionWork& other) { return other.label == function.label; });
        if (known == found_.functions.end()) {
          found_.functions.push_back(function);
        } else {
          known->add(function);
        }
      }
    }
  }

  const Trace& trace_;
  const TrainingThread& thread_;
  const UserCode& user_;
  const IntervalSet& times_;
  const IntervalTotals totals_;
  const bool is_sampled_;
  std::vector<bool> is_fetch_, is_collate_;  // by label
  std::set<uint32_t> workers_;
  std::set<LabelId> iterators_;  // that were waited for
  std::vector<std::pair<int64_t, SliceId>> waits_;
  InputWork found_;
};

}  // namespace

void InputWork::take_off(int64_t recording_ns) {
  wait_ns = std::max<int64_t>(wait_ns / 2, wait_ns - recording_ns);
  if (is_in_process) fetch_ns = std::max<int64_t>(fetch_ns / 2, fetch_ns - recording_ns);
}

InputWork InputWork::find(const Trace& trace, const TrainingThread& thread, const UserCode& user,
                          const IntervalSet& times) {
  return Finder(trace, thread, user, times).run();
}

}  // namespace stepscope
