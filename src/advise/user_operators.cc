#include "advise/user_operators.h"

#include <algorithm>
#include <array>

#include "trace/nesting.h"

namespace stepscope {
namespace {

struct Open {
  int64_t end_ns;
  SliceId call;
  Part part;
  bool is_in_operator;
  bool is_direct;
  bool is_backward;
};

// The engine takes less between two nodes.
constexpr int64_t kEngineGapNs = 20'000;

bool is_backward_role(TrainingRole role) {
  return role == TrainingRole::kBackwardCall || role == TrainingRole::kBackwardNode ||
         role == TrainingRole::kOptimizerStep || role == TrainingRole::kZeroGrad;
}

}  // namespace

StepFinder::StepFinder(const Case& c) {
  for (const Step& step : c.steady.steps) spans_.push_back(step.span);
  if (spans_.empty()) spans_ = c.times.intervals();
}

std::optional<uint32_t> StepFinder::find(int64_t time_ns) {
  if (at_ < spans_.size() && time_ns < spans_[at_].begin_ns) {
    at_ = static_cast<size_t>(
        std::upper_bound(spans_.begin(), spans_.end(), time_ns,
                         [](int64_t ns, const Interval& span) { return ns < span.begin_ns; }) -
        spans_.begin());
    if (at_ > 0) --at_;
  }
  while (at_ + 1 < spans_.size() && spans_[at_].end_ns <= time_ns) ++at_;
  if (at_ >= spans_.size() || time_ns < spans_[at_].begin_ns || time_ns >= spans_[at_].end_ns) {
    return std::nullopt;
  }
  return static_cast<uint32_t>(at_);
}

std::shared_ptr<const UserOperators> UserOperators::of(const Case& c) {
  return c.trace.derived().get<UserOperators>("user operators", [&] { return UserOperators(c); });
}

UserOperators::UserOperators(const Case& c) {
  if (!c.thread->track()) return;
  const SliceColumns& slices = c.trace.slices();
  const Track& track = c.trace.tracks()[index(*c.thread->track())];
  std::vector<Open> open;
  StepFinder steps(c);
  for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
    const int64_t start_ns = slices.start_ns[row];
    const int64_t end_ns = slices.end_ns(row);
    while (!open.empty() && !Nesting::holds(open.back().end_ns, start_ns, end_ns)) open.pop_back();
    const LabelId label = slices.label[row];
    const SliceKind kind = c.trace.labels()[label].kind;
    const TrainingRole role = c.thread->role(label);
    Open now = open.empty() ? Open{0, kNoSlice, Part::kRest, false, false, false} : open.back();
    now.end_ns = end_ns;
    if (role == TrainingRole::kInput) now.part = Part::kInput;
    now.is_backward |= is_backward_role(role);
    if (c.user.is_user_function(label)) {
      now.call = SliceId{row};
      now.is_direct = true;
      now.is_in_operator = false;
    } else if (kind == SliceKind::kPython && !c.user.is_comprehension(label)) {
      now.is_direct = false;
    }
    if (kind == SliceKind::kOperator && !now.is_in_operator) {
      now.is_in_operator = true;
      if (const auto step = steps.find(start_ns)) {
        operators_.push_back(
            {SliceId{row}, now.call, *step, now.part, now.is_direct, now.is_backward});
      }
    }
    open.push_back(now);
  }
}

SliceId find_engine_node(const Trace& trace, SliceId slice) {
  const SliceColumns& slices = trace.slices();
  SliceId node = slice;
  for (SliceId at = slice; at != kNoSlice; at = slices.parent[index(at)]) {
    if (trace.labels()[slices.label[index(at)]].kind != SliceKind::kOperator) break;
    if (trace.slice_name(at).starts_with(kEngineNodePrefix)) node = at;
  }
  return node;
}

int64_t find_engine_ns(const Trace& trace, SliceId node) {
  const SliceColumns& slices = trace.slices();
  const int64_t start_ns = slices.start_ns[index(node)];
  const int64_t dur_ns = slices.dur_ns[index(node)];
  const SliceId next = UserOperators::end_of(trace, node);
  if (index(next) >= slices.size() || slices.depth[index(next)] != slices.depth[index(node)] ||
      !trace.slice_name(next).starts_with(kEngineNodePrefix)) {
    return dur_ns;
  }
  const int64_t until_next_ns = slices.start_ns[index(next)] - start_ns;
  return until_next_ns < dur_ns + kEngineGapNs ? std::max(dur_ns, until_next_ns) : dur_ns;
}

SliceId UserOperators::end_of(const Trace& trace, SliceId slice) {
  const SliceColumns& slices = trace.slices();
  const Track& track = trace.tracks()[index(trace.find_track_of(slice))];
  const uint32_t end = track.first_slice + track.slice_count;
  const int64_t end_ns = slices.end_ns(index(slice));
  const auto first = slices.start_ns.begin() + index(slice) + 1;
  return SliceId{static_cast<uint32_t>(
      std::lower_bound(first, slices.start_ns.begin() + end, end_ns) - slices.start_ns.begin())};
}

int64_t UserOperators::backward_ns(const Trace& trace, SliceId first, SliceId end) const {
  const FlowColumns& flows = trace.flows();
  int64_t sum_ns = 0;
  SliceId last = kNoSlice;
  for (auto at = std::lower_bound(flows.from.begin(), flows.from.end(), first);
       at != flows.from.end() && *at < end; ++at) {
    const auto i = static_cast<size_t>(at - flows.from.begin());
    if (trace.string(trace.labels()[flows.label[i]].name) != "fwdbwd") continue;
    const SliceId node = find_engine_node(trace, flows.to[i]);
    if (node == last) continue;
    last = node;
    sum_ns += find_engine_ns(trace, node);
  }
  return sum_ns;
}

void OperatorSum::add(const UserOperator& op, int64_t ns) {
  const SliceColumns& slices = c_.trace.slices();
  ++count_;
  ns_ += ns;
  if (longest_ == kNoSlice || slices.dur_ns[index(op.slice)] > slices.dur_ns[index(longest_)]) {
    longest_ = op.slice;
  }
  if (op.call != kNoSlice) by_function_[slices.label[index(op.call)]] += ns;
}

std::string OperatorSum::where() const {
  const auto most =
      std::max_element(by_function_.begin(), by_function_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == by_function_.end() ? "" : c_.place(most->first);
}

bool is_copying_operator(std::string_view name) {
  constexpr std::array<std::string_view, 5> kNames = {"aten::clone", "aten::contiguous", "aten::to",
                                                      "aten::_to_copy", "aten::reshape"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace stepscope
