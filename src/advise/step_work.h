// StepWork: what the training thread did in the steady steps, added up in one walk over its slices:
// by label, and by function of the user's own code. What happened while it fetched a batch is kept
// apart from the rest of the step: what is wrong there is the input's.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "advise/code_place.h"
#include "analyze/intervals.h"
#include "analyze/training_thread.h"
#include "trace/ids.h"
#include "trace/trace.h"

namespace stepscope {

enum class Part : uint8_t { kInput = 0, kRest };
inline constexpr size_t kParts = 2;

struct LabelWork {
  uint64_t calls = 0;
  int64_t self_ns = 0;
  int64_t total_ns = 0;  // of those that are in no other of the same label
  SliceId longest = kNoSlice;
  int64_t longest_ns = -1;
};

// What runs in a function of the user's, but in no other function of the user's that it calls,
// without what recording it cost.
struct FunctionWork {
  LabelId label{};
  uint64_t calls = 0;
  int64_t own_ns = 0;
  int64_t operator_ns = 0;  // of these: in operators
  // Of these: in PyTorch's Python code but in no operator, and garbage collection.
  int64_t torch_ns = 0;
  int64_t waiting_ns = 0;     // of python_ns(), where samples tell that the thread waited
  uint64_t operators = 0;     // outermost ones
  uint64_t python_calls = 0;  // of library functions, and of itself
  uint64_t repeats = 0;       // calls of what it itself calls most often
  // Calls, where many that a library makes in one call by the user's own code are one: 40 layers in
  // an nn.Sequential are no loop of the user's.
  uint64_t entries = 0;
  SliceId longest = kNoSlice;
  int64_t longest_ns = -1;

  // In its own code and in libraries that are not PyTorch's.
  int64_t python_ns() const { return own_ns - operator_ns - torch_ns; }
  void add(const FunctionWork& other);  // of the same function, elsewhere
};

class StepWork {
 public:
  // Of the slices of `track` that begin in `times`.
  StepWork(const Trace& trace, const TrainingThread& thread, const UserCode& user, TrackId track,
           const IntervalSet& times);

  const LabelWork& of(LabelId label, Part part) const {
    return labels_[static_cast<size_t>(part)][index(label)];
  }
  LabelWork of(LabelId label) const;  // of both parts
  // What recording all of it cost.
  int64_t recording_ns(Part part) const { return recording_ns_[static_cast<size_t>(part)]; }
  // Null where it has no time.
  const FunctionWork* find(LabelId function, Part part) const;
  // Those with any time, most own time first.
  const std::vector<FunctionWork>& functions(Part part) const {
    return functions_[static_cast<size_t>(part)];
  }

 private:
  std::array<std::vector<LabelWork>, kParts> labels_;  // by label
  std::array<std::vector<FunctionWork>, kParts> functions_;
  std::array<int64_t, kParts> recording_ns_{};
};

}  // namespace stepscope
