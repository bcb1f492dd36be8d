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
// On the way it finds which launches were made by operators: launched().
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

// What a call did on the device and to memory, alone and by the calls in it.
struct OperatorEffects {
  int64_t self_device_ns = 0;
  int64_t children_device_ns = 0;
  int64_t self_kernel_ns = 0;
  int64_t self_tensor_core_ns = 0;
  int64_t children_tensor_core_ns = 0;
  int64_t self_memory_bytes = 0;
  int64_t children_memory_bytes = 0;
  int64_t self_device_memory_bytes = 0;
  int64_t children_device_memory_bytes = 0;
};

struct OperatorCall {
  OperatorWalkKey key;
  LabelId label{};
  int64_t start_ns = 0;
  int64_t dur_ns = 0;
  int64_t self_host_ns = 0;
  OperatorEffects effects;
  bool has_effects =
      false;  // else all of them are 0: most calls have none, and are not made to pay
  bool is_row = false;
  bool eligible = false;        // for Tensor Cores, itself or a call in it
  bool holds_eligible = false;  // a call in it is the lowest eligible one
};

// The device's work that calls launched which are rows.
struct OperatorLaunches {
  // Of all tracks: made by whichever walk comes first, and kept with the trace under this name.
  static constexpr const char* kDerivedName = "launches of operators";

  int64_t kernel_ns = 0;
  int64_t eligible_kernel_ns = 0;       // by operators that could use Tensor Cores
  std::vector<uint8_t> is_by_operator;  // by launch
};

template <typename Sink>
class OperatorWalk {
 public:
  OperatorWalk(const OperatorRules& rules, const Launches& launches, const SliceMemory& memory,
               Sink& sink)
      : rules_(rules), launches_(launches), memory_(memory), sink_(sink) {
    launched_.is_by_operator.resize(launches.all().size());
  }

  void add(const SliceBlock& block, const StringPool& strings) {
    if (block.starts_track) finish();
    ArgCursor correlations(block, strings, "correlation", ArgType::kInt);
    ArgCursor externals(block, strings, "External id", ArgType::kInt);
    LaunchCursor by_correlation(launches_, LaunchKey::kCorrelation);
    LaunchCursor by_external(launches_, LaunchKey::kExternal);
    const bool has_launches = !launches_.empty();
    const bool has_external = has_launches && launches_.key() == LaunchKey::kExternal;
    for (size_t i = 0; i < block.size(); ++i) {
      const LabelId label = block.label[i];
      const HostRole role = rules_.role(label);
      if (role == HostRole::kNone) continue;
      const int64_t start_ns = block.start_ns[i];
      const int64_t dur_ns = block.dur_ns(i);
      close_until_holding(start_ns, start_ns + dur_ns);
      if (role >= HostRole::kRuntime && has_launches) {
        if (const auto id = correlations.find_int(block.row(i))) {
          add_launch(by_correlation.find(*id));
        }
      }
      if (role == HostRole::kHiddenRuntime) {
        if (depth_ > 0) stack_[depth_ - 1].runtime_ns += dur_ns;
        continue;
      }
      open(block, i, label, role, start_ns, dur_ns);
      if (role == HostRole::kOperator && has_external) {
        if (const auto id = externals.find_int(block.row(i))) {
          add_launch(by_external.find(*id));
        }
      }
    }
  }

  // Closes what is open; to be called after the last block.
  void finish() {
    while (depth_ > 0) close();
  }

  // Complete after finish().
  const OperatorLaunches& launched() const { return launched_; }

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
    if (depth_ > 0) {
      Open& parent = stack_[depth_ - 1];
      parent.children_ns += dur_ns;
      ++parent.children;
      if (parent.has_waiting) {
        report(waiting_.back());
        waiting_.pop_back();
        parent.has_waiting = false;
      }
    }
    if (depth_ == stack_.size()) stack_.emplace_back();
    Open& top = stack_[depth_++];
    top.call.label = label;
    top.call.start_ns = start_ns;
    top.call.dur_ns = dur_ns;
    top.call.is_row = role != HostRole::kScope;
    top.call.eligible = rules_.is_tensor_core_eligible(label);
    top.call.holds_eligible = false;
    if (top.call.has_effects) top.call.effects = {};
    top.call.has_effects = false;
    if (top.call.is_row) top.call.key = sink_.open(block, i, label);
    top.end_ns = start_ns + dur_ns;
    top.children_ns = 0;
    top.runtime_ns = 0;
    top.children = 0;
    top.has_waiting = false;
    top.name = rules_.row_name(label);
    top.owns_launches = role == HostRole::kOperator || role == HostRole::kScope;
    top.is_operator = role == HostRole::kOperator && !rules_.is_annotation(label);
    if (!memory_.host_bytes.empty()) {
      const int64_t host_bytes = memory_.host_bytes[index(block.row(i))];
      const int64_t device_bytes = memory_.device_bytes[index(block.row(i))];
      if (host_bytes != 0 || device_bytes != 0) {
        top.call.has_effects = true;
        top.call.effects.self_memory_bytes = host_bytes;
        top.call.effects.self_device_memory_bytes = device_bytes;
      }
    }
  }

  void close_until_holding(int64_t start_ns, int64_t end_ns) {
    while (depth_ > 0) {
      const Open& top = stack_[depth_ - 1];
      if (start_ns < top.end_ns && end_ns <= top.end_ns) return;
      close();
    }
  }

  void close() {
    Open& closed = stack_[--depth_];
    if (closed.has_waiting) {
      swallow(closed, waiting_.back());
      waiting_.pop_back();
    }
    OperatorCall& call = closed.call;
    call.self_host_ns = call.dur_ns - closed.children_ns - closed.runtime_ns;
    if (call.has_effects) call.eligible |= call.effects.self_tensor_core_ns > 0;
    if (depth_ > 0) {
      Open& parent = stack_[depth_ - 1];
      parent.call.holds_eligible |= call.eligible || call.holds_eligible;
      parent.call.eligible |= call.eligible && parent.is_operator;
      if (call.has_effects) give_to_parent(call.effects, parent.call);
      if (parent.children == 1 && parent.name == closed.name) {
        parent.has_waiting = true;
        waiting_.push_back(closed);
        return;
      }
    }
    report(closed);
  }

  static void give_to_parent(const OperatorEffects& effects, OperatorCall& parent) {
    parent.has_effects = true;
    OperatorEffects& to = parent.effects;
    to.children_device_ns += effects.self_device_ns + effects.children_device_ns;
    to.children_tensor_core_ns += effects.self_tensor_core_ns + effects.children_tensor_core_ns;
    to.children_memory_bytes += effects.self_memory_bytes + effects.children_memory_bytes;
    to.children_device_memory_bytes +=
        effects.self_device_memory_bytes + effects.children_device_memory_bytes;
  }

  // Makes the only child one with its parent: all but the memory that the parent itself took is the
  // child's.
  static void swallow(Open& parent, const Open& child) {
    parent.children_ns = child.children_ns;
    parent.runtime_ns = child.runtime_ns;
    parent.children = child.children;
    parent.call.holds_eligible = child.call.holds_eligible;
    if (!parent.call.has_effects) return;
    const OperatorEffects own = parent.call.effects;
    parent.call.effects = child.call.effects;
    parent.call.effects.self_memory_bytes += own.self_memory_bytes;
    parent.call.effects.self_device_memory_bytes += own.self_device_memory_bytes;
  }

  void report(const Open& closed) {
    const OperatorCall& call = closed.call;
    if (!call.is_row) return;
    sink_.close(call);
    if (!call.has_effects) return;
    launched_.kernel_ns += call.effects.self_kernel_ns;
    if (call.eligible && !call.holds_eligible) {
      launched_.eligible_kernel_ns += call.effects.self_kernel_ns;
    }
  }

  void add_launch(const Launch* launch) {
    if (launch == nullptr) return;
    for (size_t i = depth_; i-- > 0;) {
      if (!stack_[i].owns_launches) continue;
      OperatorCall& call = stack_[i].call;
      call.has_effects = true;
      call.effects.self_device_ns += launch->device_ns;
      call.effects.self_kernel_ns += launch->kernel_ns;
      call.effects.self_tensor_core_ns += launch->tensor_core_ns;
      if (call.is_row) launched_.is_by_operator[launches_.index_of(*launch)] = 1;
      return;
    }
  }

  const OperatorRules& rules_;
  const Launches& launches_;
  const SliceMemory& memory_;
  Sink& sink_;
  std::vector<Open> stack_;  // the first depth_ are open; the others are kept for their memory
  size_t depth_ = 0;
  std::vector<Open> waiting_;
  OperatorLaunches launched_;
};

}  // namespace stepscope
