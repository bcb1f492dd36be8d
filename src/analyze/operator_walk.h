// OperatorWalk: the host's tree of operators, one track after another, as operator_rules.h defines
// it. It keeps only the open calls, so that it serves loaded traces and streams of blocks alike; a
// sink is told of each call when nothing can change it any more.
//
//   struct Sink {
//     OperatorWalkKey open(const SliceBlock&, size_t i, LabelId);  // in the order of rows
//     void close(const OperatorCall&);                             // innermost first
//   };
//   OperatorWalk walk(rules, launches, memory, sink);
//   for (each block) walk.add(block, strings);
//   walk.finish();
//
// A call whose only child has its own name is one call with it: the child's children, launches and
// memory become its own and the child is not reported. A child that may still be swallowed waits
// beside its parent until the parent closes or gets a second child.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/launches.h"
#include "analyze/operator_rules.h"
#include "trace/slice_stream.h"

namespace stepscope {

// Bytes that each call allocated less those that it freed, not counting its children; slices that
// are no calls have given theirs to the call around them. Empty: unknown.
struct SliceMemory {
  std::vector<int64_t> host_bytes;    // by SliceId
  std::vector<int64_t> device_bytes;  // by SliceId
};

struct OperatorWalkKey {
  uint32_t row = 0;  // of the sink's table
  uint64_t flops = 0;
  bool has_flops = false;
};

struct OperatorCall {
  OperatorWalkKey key;
  LabelId label{};
  int64_t start_ns = 0;
  int64_t dur_ns = 0;
  int64_t self_host_ns = 0;
  int64_t self_device_ns = 0;
  int64_t children_device_ns = 0;
  int64_t self_kernel_ns = 0;
  int64_t self_tensor_core_ns = 0;
  int64_t children_tensor_core_ns = 0;
  int64_t self_memory_bytes = 0;
  int64_t children_memory_bytes = 0;
  int64_t self_device_memory_bytes = 0;
  int64_t children_device_memory_bytes = 0;
  bool is_row = false;
  bool eligible = false;        // for Tensor Cores, itself or a call in it
  bool holds_eligible = false;  // a call in it is the lowest eligible one
};

template <typename Sink>
class OperatorWalk {
 public:
  OperatorWalk(const OperatorRules& rules, Launches& launches, const SliceMemory& memory,
               Sink& sink)
      : rules_(rules), launches_(launches), memory_(memory), sink_(sink) {}

  void add(const SliceBlock& block, const StringPool& strings) {
    if (block.starts_track) finish();
    ArgCursor correlations(block, strings, "correlation", ArgType::kInt);
    ArgCursor externals(block, strings, "External id", ArgType::kInt);
    for (size_t i = 0; i < block.size(); ++i) {
      const LabelId label = block.label[i];
      const HostRole role = rules_.role(label);
      if (role == HostRole::kNone) continue;
      const int64_t start_ns = block.start_ns[i];
      const int64_t dur_ns = block.dur_ns(i);
      close_until_holding(start_ns, start_ns + dur_ns);
      if (role >= HostRole::kRuntime && !launches_.empty()) {
        if (const auto id = correlations.find_int(block.row(i))) {
          add_launch(launches_.find_correlation(*id));
        }
      }
      if (role == HostRole::kHiddenRuntime) {
        if (!stack_.empty()) stack_.back().runtime_ns += dur_ns;
        continue;
      }
      open(block, i, label, role, start_ns, dur_ns);
      if (role == HostRole::kOperator && launches_.has_external()) {
        if (const auto id = externals.find_int(block.row(i))) {
          add_launch(launches_.find_external(*id));
        }
      }
    }
  }

  // Closes what is open; to be called after the last block.
  void finish() {
    while (!stack_.empty()) close();
  }

 private:
  struct Open {
    OperatorCall call;
    int64_t end_ns = 0;
    int64_t children_ns = 0;
    int64_t runtime_ns = 0;  // of runtime calls that are no rows
    StringId name{};
    uint32_t children = 0;
    bool owns_launches = false;
    bool is_operator = false;  // and no annotation
    bool has_waiting = false;  // its only child, at the end of waiting_
  };

  void open(const SliceBlock& block, size_t i, LabelId label, HostRole role, int64_t start_ns,
            int64_t dur_ns) {
    if (!stack_.empty()) {
      Open& parent = stack_.back();
      parent.children_ns += dur_ns;
      ++parent.children;
      if (parent.has_waiting) {
        report(waiting_.back());
        waiting_.pop_back();
        parent.has_waiting = false;
      }
    }
    Open& top = stack_.emplace_back();
    top.call.label = label;
    top.call.start_ns = start_ns;
    top.call.dur_ns = dur_ns;
    top.call.is_row = role != HostRole::kScope;
    top.call.eligible = rules_.is_tensor_core_eligible(label);
    if (top.call.is_row) top.call.key = sink_.open(block, i, label);
    if (!memory_.host_bytes.empty()) {
      top.call.self_memory_bytes = memory_.host_bytes[index(block.row(i))];
      top.call.self_device_memory_bytes = memory_.device_bytes[index(block.row(i))];
    }
    top.end_ns = start_ns + dur_ns;
    top.name = rules_.row_name(label);
    top.owns_launches = role == HostRole::kOperator || role == HostRole::kScope;
    top.is_operator = role == HostRole::kOperator && !rules_.is_annotation(label);
  }

  void close_until_holding(int64_t start_ns, int64_t end_ns) {
    while (!stack_.empty() &&
           !(start_ns < stack_.back().end_ns && end_ns <= stack_.back().end_ns)) {
      close();
    }
  }

  void close() {
    Open closed = stack_.back();
    stack_.pop_back();
    if (closed.has_waiting) {
      swallow(closed, waiting_.back());
      waiting_.pop_back();
    }
    OperatorCall& call = closed.call;
    call.self_host_ns = call.dur_ns - closed.children_ns - closed.runtime_ns;
    call.eligible |= call.self_tensor_core_ns > 0;
    if (stack_.empty()) {
      report(closed);
      return;
    }
    Open& parent = stack_.back();
    parent.call.children_device_ns += call.self_device_ns + call.children_device_ns;
    parent.call.children_tensor_core_ns += call.self_tensor_core_ns + call.children_tensor_core_ns;
    parent.call.children_memory_bytes += call.self_memory_bytes + call.children_memory_bytes;
    parent.call.children_device_memory_bytes +=
        call.self_device_memory_bytes + call.children_device_memory_bytes;
    parent.call.holds_eligible |= call.eligible || call.holds_eligible;
    parent.call.eligible |= call.eligible && parent.is_operator;
    if (parent.children == 1 && parent.name == closed.name) {
      parent.has_waiting = true;
      waiting_.push_back(closed);
    } else {
      report(closed);
    }
  }

  // Makes the only child one with its parent.
  static void swallow(Open& parent, const Open& child) {
    parent.children_ns = child.children_ns;
    parent.runtime_ns = child.runtime_ns;
    parent.children = child.children;
    OperatorCall& call = parent.call;
    call.self_device_ns = child.call.self_device_ns;
    call.children_device_ns = child.call.children_device_ns;
    call.self_kernel_ns = child.call.self_kernel_ns;
    call.self_tensor_core_ns = child.call.self_tensor_core_ns;
    call.children_tensor_core_ns = child.call.children_tensor_core_ns;
    call.self_memory_bytes += child.call.self_memory_bytes;
    call.children_memory_bytes = child.call.children_memory_bytes;
    call.self_device_memory_bytes += child.call.self_device_memory_bytes;
    call.children_device_memory_bytes = child.call.children_device_memory_bytes;
    call.holds_eligible = child.call.holds_eligible;
  }

  void report(const Open& closed) {
    if (closed.call.is_row) sink_.close(closed.call);
  }

  void add_launch(Launches::Launch* launch) {
    if (launch == nullptr) return;
    for (size_t i = stack_.size(); i-- > 0;) {
      if (!stack_[i].owns_launches) continue;
      OperatorCall& call = stack_[i].call;
      call.self_device_ns += launch->device_ns;
      call.self_kernel_ns += launch->kernel_ns;
      call.self_tensor_core_ns += launch->tensor_core_ns;
      launch->in_operator |= call.is_row;
      return;
    }
  }

  const OperatorRules& rules_;
  Launches& launches_;
  const SliceMemory& memory_;
  Sink& sink_;
  std::vector<Open> stack_;
  std::vector<Open> waiting_;
};

}  // namespace stepscope
