#include "advise/step_work.h"

#include <algorithm>
#include <unordered_map>

#include "advise/recording_cost.h"
#include "analyze/walk_in_time.h"
#include "trace/nesting.h"

namespace stepscope {
namespace {

// Of a slice that is open.
struct Context {
  LabelId function = LabelId{UINT32_MAX};  // the innermost of the user's; UINT32_MAX: none
  Part part = Part::kRest;
  bool is_in_operator = false;
  bool is_in_torch = false;
  bool is_outermost_operator = false;  // the slice itself is one
  bool is_user_function = false;       // the slice itself is one
  uint64_t own_call = 0;               // the call by the user's own code that it is in
};

class Walk {
 public:
  Walk(const Trace& trace, const TrainingThread& thread, const UserCode& user)
      : trace_(trace), thread_(thread), user_(user), cost_(trace) {
    const size_t labels = trace.labels().size();
    open_.resize(labels);
    last_own_call_.resize(labels);
    for (uint32_t i = 0; i < labels; ++i) {
      is_fetch_.push_back(thread.role(LabelId{i}) == TrainingRole::kInput ||
                          is_phase_mark(trace, trace.labels()[LabelId{i}], "fetch"));
    }
    for (size_t part = 0; part < kParts; ++part) {
      by_label[part].resize(labels);
      by_function[part].resize(labels);
    }
  }

  void run(const Track& track, const IntervalSet& times) {
    for (const Interval& time : times.intervals()) {
      walk_in_time(
          trace_, track, time, nesting_,
          [this](uint32_t row, bool began_before) {
            const LabelId label = trace_.slices().label[row];
            enter(label);
            if (!began_before) count_call(label);
          },
          [this](const Nesting::Slice& slice) { on_close(slice); });
    }
  }

  std::array<std::vector<LabelWork>, kParts> by_label;
  std::array<std::vector<FunctionWork>, kParts> by_function;
  std::array<int64_t, kParts> recording_ns{};

 private:
  void enter(LabelId label) {
    Context context = contexts_.empty() ? Context{} : contexts_.back();
    context.is_outermost_operator = false;
    if (!user_.is_comprehension(label)) context.is_user_function = user_.is_user_function(label);
    const SliceKind kind = trace_.labels()[label].kind;
    if (thread_.role(label) == TrainingRole::kInput) context.part = Part::kInput;
    // What a fetch does is not the work of the function that asked for the batch.
    if (is_fetch_[index(label)]) context.function = LabelId{UINT32_MAX};
    if (kind == SliceKind::kOperator) {
      context.is_outermost_operator = !context.is_in_operator;
      context.is_in_operator = true;
    }
    if (user_.is_user_function(label)) {
      context.function = label;
      context.is_in_operator = false;  // a Python operator's own code
      context.is_in_torch = false;
    } else if (user_.is_torch_function(label) || user_.is_garbage_collection(label)) {
      context.is_in_torch = true;
    }
    if (contexts_.empty() || contexts_.back().is_user_function) context.own_call = ++own_calls_;
    contexts_.push_back(context);
    ++open_[index(label)];
  }

  // Of what was entered last.
  void count_call(LabelId label) {
    const Context& context = contexts_.back();
    const auto part = static_cast<size_t>(context.part);
    const SliceKind kind = trace_.labels()[label].kind;
    recording_ns[part] += cost_.of(kind);
    ++by_label[part][index(label)].calls;
    if (context.function == LabelId{UINT32_MAX}) return;
    FunctionWork& function = by_function[part][index(context.function)];
    // Most of it lies within the slice, or in the function that holds it.
    function.own_ns -= cost_.of(kind);
    if (context.is_in_operator) {
      function.operator_ns -= cost_.of(kind);
    } else if (context.is_in_torch) {
      function.torch_ns -= cost_.of(kind);
    }
    function.calls += context.function == label;
    if (context.function == label && last_own_call_[index(label)] != context.own_call) {
      last_own_call_[index(label)] = context.own_call;
      ++function.entries;
    }
    function.operators += context.is_outermost_operator;
    function.python_calls += kind == SliceKind::kPython;
    if (contexts_.size() < 2 || !contexts_[contexts_.size() - 2].is_user_function) return;
    count_repeat(contexts_[contexts_.size() - 2].function, label, part);
  }

  void count_repeat(LabelId caller, LabelId callee, size_t part) {
    const uint64_t calls = ++calls_[part][uint64_t{index(caller)} << 32 | index(callee)];
    uint64_t& repeats = by_function[part][index(caller)].repeats;
    repeats = std::max(repeats, calls);
  }

  void on_close(const Nesting::Slice& slice) {
    const Context context = contexts_.back();
    contexts_.pop_back();
    const auto part = static_cast<size_t>(context.part);
    LabelWork& label = by_label[part][index(slice.label)];
    label.self_ns += slice.self_ns();
    if (--open_[index(slice.label)] == 0) label.total_ns += slice.dur_ns();
    note_longest(label, slice);
    if (context.function == LabelId{UINT32_MAX}) return;
    FunctionWork& function = by_function[part][index(context.function)];
    function.label = context.function;
    function.own_ns += slice.self_ns();
    if (context.is_in_operator) {
      function.operator_ns += slice.self_ns();
    } else if (context.is_in_torch) {
      function.torch_ns += slice.self_ns();
    } else if (thread_.role(slice.label) == TrainingRole::kWaiting) {
      function.waiting_ns += slice.self_ns();
    }
    if (context.function == slice.label) note_longest(function, slice);
  }

  template <typename Work>
  static void note_longest(Work& work, const Nesting::Slice& slice) {
    if (slice.dur_ns() <= work.longest_ns) return;
    work.longest_ns = slice.dur_ns();
    work.longest = slice.row;
  }

  const Trace& trace_;
  const TrainingThread& thread_;
  const UserCode& user_;
  RecordingCost cost_;
  std::vector<bool> is_fetch_;  // by label
  Nesting nesting_;
  std::vector<Context> contexts_;  // as the stack of nesting_
  std::vector<uint32_t> open_;     // by label
  uint64_t own_calls_ = 0;
  std::vector<uint64_t> last_own_call_;  // in which a function was entered last; by label
  // By a function of the user's and what it calls itself.
  std::array<std::unordered_map<uint64_t, uint64_t>, kParts> calls_;
};

}  // namespace

void FunctionWork::add(const FunctionWork& other) {
  calls += other.calls;
  entries += other.entries;
  own_ns += other.own_ns;
  operator_ns += other.operator_ns;
  torch_ns += other.torch_ns;
  waiting_ns += other.waiting_ns;
  operators += other.operators;
  python_calls += other.python_calls;
  repeats += other.repeats;
  if (other.longest_ns <= longest_ns) return;
  longest_ns = other.longest_ns;
  longest = other.longest;
}

StepWork::StepWork(const Trace& trace, const TrainingThread& thread, const UserCode& user,
                   TrackId track, const IntervalSet& times) {
  Walk walk(trace, thread, user);
  walk.run(trace.tracks()[index(track)], times);
  labels_ = std::move(walk.by_label);
  recording_ns_ = walk.recording_ns;
  for (size_t part = 0; part < kParts; ++part) {
    for (const FunctionWork& function : walk.by_function[part]) {
      if (function.own_ns > 0) functions_[part].push_back(function);
    }
    std::stable_sort(
        functions_[part].begin(), functions_[part].end(),
        [](const FunctionWork& a, const FunctionWork& b) { return a.own_ns > b.own_ns; });
  }
}

const FunctionWork* StepWork::find(LabelId function, Part part) const {
  const auto& all = functions(part);
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const FunctionWork& work) { return work.label == function; });
  return found == all.end() ? nullptr : &*found;
}

LabelWork StepWork::of(LabelId label) const {
  LabelWork sum = of(label, Part::kInput);
  const LabelWork& rest = of(label, Part::kRest);
  sum.calls += rest.calls;
  sum.self_ns += rest.self_ns;
  sum.total_ns += rest.total_ns;
  if (rest.longest_ns > sum.longest_ns) {
    sum.longest = rest.longest;
    sum.longest_ns = rest.longest_ns;
  }
  return sum;
}

}  // namespace stepscope
