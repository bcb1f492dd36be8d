#include "trace/training_phases.h"

#include <algorithm>
#include <string_view>

#include "trace/torch_scopes.h"

namespace stepscope {
namespace {

constexpr uint32_t kNotNumbered = UINT32_MAX;

TrainingPhase phase_of_scope(std::string_view name, std::string_view category) {
  if (is_optimizer_scope(name)) return TrainingPhase::kOptimizer;
  if (is_zero_grad_scope(name)) return TrainingPhase::kZeroGrad;
  if (is_input_scope(name)) return TrainingPhase::kInput;
  if (category == kPhaseCategory) {
    if (name == "backward") return TrainingPhase::kBackward;
    if (name == "fetch" || name == "collate") return TrainingPhase::kInput;
  }
  return TrainingPhase::kOther;
}

bool is_node_name(std::string_view name, SliceKind kind) {
  return is_backward_node(name) || (kind == SliceKind::kOperator && is_backward_function(name));
}

}  // namespace

TrainingPhases::TrainingPhases(const Trace& trace)
    : trace_(trace),
      leads_(trace.tracks().size()),
      serves_(trace.tracks().size()),
      processes_(trace.processes().size()) {
  for (const Label& label : trace.labels().all()) {
    const std::string_view name = trace.string(label.name);
    const bool is_node = is_node_name(name, label.kind);
    is_node_label_.push_back(is_node);
    phase_of_label_.push_back(is_node ? TrainingPhase::kBackward
                                      : phase_of_scope(name, trace.string(label.category)));
  }
  find_phase_slices();
  find_numbered_operators();
  find_passes();
  find_begins();
}

void TrainingPhases::find_phase_slices() {
  const SliceColumns& slices = trace_.slices();
  phase_.resize(slices.size(), kNoSlice);
  operator_.resize(slices.size(), kNoSlice);
  for (uint32_t row = 0; row < slices.size(); ++row) {  // parents come first
    const SliceId parent = slices.parent[row];
    if (parent != kNoSlice) {
      phase_[row] = phase_[index(parent)];
      operator_[row] = operator_[index(parent)];
    }
    // The function of a node is part of that node.
    const bool is_in_node = parent != kNoSlice && is_node(SliceId{row}) && is_node(parent);
    if (phase_of(SliceId{row}) != TrainingPhase::kOther && !is_in_node) {
      phase_[row] = SliceId{row};
    } else if (operator_[row] == kNoSlice &&
               trace_.labels()[slices.label[row]].kind == SliceKind::kOperator) {
      operator_[row] = SliceId{row};
    }
  }
}

void TrainingPhases::find_numbered_operators() {
  numbered_around_.resize(trace_.slices().size(), kNotNumbered);
  const ArgColumn* numbers = trace_.find_args("Sequence number", ArgType::kInt);
  if (numbers == nullptr) return;
  for (size_t i = 0; i < numbers->rows.size(); ++i) {
    const SliceId slice = numbers->rows[i];
    const SliceId phase = phase_[index(slice)];
    if (phase != kNoSlice && phase_of(phase) == TrainingPhase::kBackward) {
      int64_t& last = processes_[process_of(trace_.find_track_of(slice))].last_backward_node;
      last = std::max(last, numbers->ints[i]);
    } else {
      numbered_around_[index(slice)] = static_cast<uint32_t>(numbered_.size());
      numbered_.push_back({slice, numbers->ints[i]});
    }
  }
  for (uint32_t row = 0; row < numbered_around_.size(); ++row) {
    const SliceId parent = trace_.slices().parent[row];
    if (parent != kNoSlice && numbered_around_[index(parent)] != kNotNumbered) {
      numbered_around_[row] = numbered_around_[index(parent)];
    }
  }
}

void TrainingPhases::find_passes() {
  const SliceColumns& slices = trace_.slices();
  std::vector<std::vector<Pass>> nodes(processes_.size());
  std::vector<std::vector<int64_t>> other_work_ns(processes_.size());  // where it begins
  for (uint32_t id = 0; id < trace_.tracks().size(); ++id) {
    const Track& track = trace_.tracks()[id];
    const uint32_t end = track.first_slice + track.slice_count;
    for (uint32_t row = track.first_slice; row < end; ++row) {
      if (phase_[row] == SliceId{row}) {
        (is_node(SliceId{row}) ? serves_ : leads_)[id] = 1;
      }
      leads_[id] |= numbered_around_[row] != kNotNumbered;
    }
    for (uint32_t row = track.first_slice; row < end; ++row) {
      const SliceId around = phase_[row];
      if (around != kNoSlice && phase_of(around) == TrainingPhase::kBackward) {
        if (around == SliceId{row}) {
          nodes[track.process].push_back({slices.start_ns[row], slices.end_ns(row)});
        }
      } else if (leads_[id] != 0 && (around == SliceId{row} || operator_[row] == SliceId{row})) {
        other_work_ns[track.process].push_back(slices.start_ns[row]);
      }
    }
  }
  for (size_t process = 0; process < processes_.size(); ++process) {
    std::vector<Pass>& passes = processes_[process].passes;
    std::vector<int64_t>& work_ns = other_work_ns[process];
    std::sort(work_ns.begin(), work_ns.end());
    std::sort(nodes[process].begin(), nodes[process].end(),
              [](const Pass& a, const Pass& b) { return a.begin_ns < b.begin_ns; });
    const auto find_work = [&](int64_t from_ns) {
      const auto at = std::lower_bound(work_ns.begin(), work_ns.end(), from_ns);
      return at == work_ns.end() ? kNeverNs : *at;
    };
    for (const Pass& node : nodes[process]) {
      if (!passes.empty() && find_work(passes.back().end_ns) >= node.begin_ns) {
        passes.back().end_ns = std::max(passes.back().end_ns, node.end_ns);
      } else {
        passes.push_back(node);
      }
    }
    for (Pass& pass : passes) {
      // Without any work after it, what is given back late can not be told from the program's end.
      const int64_t next_ns = find_work(pass.end_ns);
      if (next_ns != kNeverNs) pass.end_ns = next_ns;
    }
  }
}

void TrainingPhases::find_begins() {
  const SliceColumns& slices = trace_.slices();
  for (const Track& track : trace_.tracks()) {
    PerProcess& process = processes_[track.process];
    for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
      if (phase_[row] != SliceId{row}) continue;
      process.begin_ns = std::min(process.begin_ns, slices.start_ns[row]);
      if (phase_of(SliceId{row}) == TrainingPhase::kOptimizer) {
        process.first_update_ns = std::min(process.first_update_ns, slices.end_ns(row));
      }
    }
  }
  for (size_t i = 0; i < numbered_.size(); ++i) {
    PerProcess& process = processes_[process_of(trace_.find_track_of(numbered_[i].slice))];
    const int64_t start_ns = slices.start_ns[index(numbered_[i].slice)];
    if (start_ns < process.begin_ns && made_node_at(i)) process.begin_ns = start_ns;
  }
}

size_t TrainingPhases::find_follower(size_t numbered) const {
  const SliceColumns& slices = trace_.slices();
  const SliceId slice = numbered_[numbered].slice;
  const int64_t end_ns = slices.end_ns(index(slice));
  const Track& track = trace_.tracks()[index(trace_.find_track_of(slice))];
  const uint32_t track_end = track.first_slice + track.slice_count;
  const auto after = std::partition_point(numbered_.begin() + static_cast<ptrdiff_t>(numbered) + 1,
                                          numbered_.end(), [&](const Numbered& other) {
                                            return index(other.slice) < track_end &&
                                                   slices.start_ns[index(other.slice)] < end_ns;
                                          });
  if (after == numbered_.end() || index(after->slice) >= track_end) return numbered_.size();
  return static_cast<size_t>(after - numbered_.begin());
}

// An operator's number is that of the node that comes next, whether it makes it or not: one that
// made a node is followed by a higher number.
bool TrainingPhases::made_node_at(size_t numbered) const {
  const size_t follower = find_follower(numbered);
  if (follower < numbered_.size()) return numbered_[follower].number > numbered_[numbered].number;
  const TrackId track = trace_.find_track_of(numbered_[numbered].slice);
  return processes_[process_of(track)].last_backward_node >= numbered_[numbered].number;
}

bool TrainingPhases::made_node(SliceId slice) const {
  if (slice == kNoSlice) return false;
  const uint32_t numbered = numbered_around_[index(slice)];
  return numbered != kNotNumbered && made_node_at(numbered);
}

TrainingPhases::Moment TrainingPhases::find(TrackId track, SliceId slice, int64_t time_ns) const {
  const SliceColumns& slices = trace_.slices();
  Moment moment;
  const SliceId around = slice == kNoSlice ? kNoSlice : phase_[index(slice)];
  if (around != kNoSlice && phase_of(around) != TrainingPhase::kBackward) {
    moment.phase = phase_of(around);
    moment.end_ns = slices.end_ns(index(around));
    return moment;
  }
  if (around == kNoSlice && leads_[index(track)] == 0 && serves_[index(track)] == 0) return moment;
  const std::vector<Pass>& passes = processes_[process_of(track)].passes;
  const auto after = std::upper_bound(
      passes.begin(), passes.end(), time_ns,
      [](int64_t moment_ns, const Pass& pass) { return moment_ns < pass.begin_ns; });
  if (after == passes.begin() || (after - 1)->end_ns <= time_ns) return moment;
  moment.phase = TrainingPhase::kBackward;
  moment.end_ns = (after - 1)->end_ns;
  if (around != kNoSlice && is_node(around)) {
    moment.node_end_ns = slices.end_ns(index(around));
  }
  return moment;
}

int64_t TrainingPhases::find_next_backward_ns(uint32_t process, int64_t time_ns) const {
  const std::vector<Pass>& passes = processes_[process].passes;
  const auto at = std::lower_bound(
      passes.begin(), passes.end(), time_ns,
      [](const Pass& pass, int64_t moment_ns) { return pass.begin_ns < moment_ns; });
  return at == passes.end() ? kNeverNs : at->begin_ns;
}

}  // namespace stepscope
