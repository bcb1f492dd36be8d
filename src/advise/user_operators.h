// UserOperators: the outermost operators of the training thread in the steady steps, in order, each
// with the call of the user's function that it is in. What rules about patterns of operators read.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "advise/case.h"
#include "trace/ids.h"

namespace stepscope {

struct UserOperator {
  SliceId slice;
  SliceId call;       // the innermost call of the user's functions around it; kNoSlice: none
  uint32_t step = 0;  // the steady step that it begins in
  Part part = Part::kRest;
  bool is_direct = false;    // called from that function's own code, not from a library
  bool is_backward = false;  // in the backward pass, or in the optimizer
};

// "autograd::engine::evaluate_function: AddmmBackward0": what the engine does for one node.
inline constexpr std::string_view kEngineNodePrefix = "autograd::engine::evaluate_function: ";
// The one around a backward function; the slice itself where there is none.
SliceId find_engine_node(const Trace& trace, SliceId slice);

// What a node takes, with what the engine does until the next one.
int64_t find_engine_ns(const Trace& trace, SliceId node);

// Which steady step a moment is in. (Case::times has steps that touch as one.) Moments that come in
// order cost O(1) each.
class StepFinder {
 public:
  explicit StepFinder(const Case& c);
  std::optional<uint32_t> find(int64_t time_ns);

 private:
  std::vector<Interval> spans_;
  size_t at_ = 0;
};

class UserOperators {
 public:
  static std::shared_ptr<const UserOperators> of(const Case& c);
  explicit UserOperators(const Case& c);

  std::span<const UserOperator> all() const { return operators_; }
  // Time of the backward nodes that operators of slices [first, end) made.
  int64_t backward_ns(const Trace& trace, SliceId first, SliceId end) const;
  // The row after the last slice that is in this one.
  static SliceId end_of(const Trace& trace, SliceId slice);

 private:
  std::vector<UserOperator> operators_;
};

// A sum over some of them: how many, how long, which was the longest, and who calls most of them.
class OperatorSum {
 public:
  explicit OperatorSum(const Case& c) : c_(c) {}

  void add(const UserOperator& op, int64_t ns);
  uint64_t count() const { return count_; }
  int64_t ns() const { return ns_; }
  SliceId longest() const { return longest_; }
  // The function of the user's with most of the time, "file:line function"; "" where none is known.
  std::string where() const;

 private:
  const Case& c_;
  uint64_t count_ = 0;
  int64_t ns_ = 0;
  SliceId longest_ = kNoSlice;
  std::map<LabelId, int64_t> by_function_;
};

// Of a name: makes a copy of a tensor, or may: to() and contiguous() need not.
bool is_copying_operator(std::string_view name);

}  // namespace stepscope
