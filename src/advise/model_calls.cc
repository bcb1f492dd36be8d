#include "advise/model_calls.h"

#include <algorithm>
#include <string_view>

#include "advise/user_operators.h"
#include "trace/nesting.h"

namespace stepscope {
namespace {

struct Open {
  int64_t end_ns;
  uint32_t module;  // ModelCall::kNone: in none
  SliceId user_call;
  bool is_in_operator;
  bool is_backward;
};

}  // namespace

std::shared_ptr<const ModelCalls> ModelCalls::of(const Case& c) {
  return c.trace.derived().get<ModelCalls>("model calls", [&] { return ModelCalls(c); });
}

ModelCalls::ModelCalls(const Case& c)
    : first_used_number_(c.steps(), INT64_MAX), first_call_ns_(c.steps(), INT64_MAX) {
  if (!c.thread->track() || !c.thread->has(TrainingRole::kForward)) return;
  find_calls(c);
  find_backward(c);
  add_to_parents();
}

void ModelCalls::find_calls(const Case& c) {
  const SliceColumns& slices = c.trace.slices();
  const Track& track = c.trace.tracks()[index(*c.thread->track())];
  const ArgColumn* numbers = c.trace.find_args("Sequence number", ArgType::kInt);
  size_t at = 0;
  if (numbers != nullptr) {
    at = static_cast<size_t>(
        std::lower_bound(numbers->rows.begin(), numbers->rows.end(), SliceId{track.first_slice}) -
        numbers->rows.begin());
  }
  StepFinder steps(c);
  std::vector<Open> open;
  std::vector<uint32_t> without_next;  // calls that wait for the number after them
  for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
    const int64_t start_ns = slices.start_ns[row];
    const int64_t end_ns = slices.end_ns(row);
    while (!open.empty() && !Nesting::holds(open.back().end_ns, start_ns, end_ns)) {
      open.pop_back();
    }
    const LabelId label = slices.label[row];
    const SliceKind kind = c.trace.labels()[label].kind;
    const TrainingRole role = c.thread->role(label);
    Open now = open.empty() ? Open{0, ModelCall::kNone, kNoSlice, false, false} : open.back();
    now.end_ns = end_ns;
    now.is_backward |= role == TrainingRole::kBackwardCall || role == TrainingRole::kBackwardNode;
    if (c.user.is_user_function(label)) now.user_call = SliceId{row};
    if (role == TrainingRole::kForward) {
      ModelCall call;
      call.slice = SliceId{row};
      call.user_call = now.user_call;
      call.parent = now.module;
      call.is_in_backward = now.is_backward;
      if (const auto step = steps.find(start_ns)) {
        call.step = *step;
        first_call_ns_[*step] = std::min(first_call_ns_[*step], start_ns);
      }
      now.module = static_cast<uint32_t>(calls_.size());
      without_next.push_back(now.module);
      calls_.push_back(call);
    }
    if (kind == SliceKind::kOperator && !now.is_in_operator) {
      now.is_in_operator = true;
      if (now.module != ModelCall::kNone) {
        ModelCall& call = calls_[now.module];
        ++call.operators;
        call.operators_hash = call.operators_hash * 1099511628211U + index(label) + 1;
      }
    }
    if (numbers != nullptr) {
      while (at < numbers->rows.size() && numbers->rows[at] < SliceId{row}) ++at;
      const bool is_numbered = at < numbers->rows.size() && numbers->rows[at] == SliceId{row};
      if (is_numbered && !now.is_backward) {
        const int64_t number = numbers->ints[at];
        has_numbers_ = true;
        std::erase_if(without_next, [&](uint32_t i) {
          ModelCall& call = calls_[i];
          const bool is_over = slices.end_ns(index(call.slice)) <= start_ns;
          if (is_over) {
            call.next_number = number;
          } else if (call.first_number < 0) {
            call.first_number = number;
          }
          return is_over;
        });
      }
    }
    open.push_back(now);
  }
}

void ModelCalls::find_backward(const Case& c) {
  const Trace& trace = c.trace;
  const SliceColumns& slices = trace.slices();
  const FlowColumns& flows = trace.flows();
  StepFinder steps(c);
  std::vector<std::pair<SliceId, uint32_t>> nodes;  // a node, and the call that made it
  for (size_t i = 0; i < flows.from.size(); ++i) {
    if (trace.string(trace.labels()[flows.label[i]].name) != "fwdbwd") continue;
    has_backward_ = true;
    const SliceId from = flows.from[i];
    const auto number = static_cast<int64_t>(flows.id[i]);
    if (const auto step = steps.find(slices.start_ns[index(from)])) {
      first_used_number_[*step] = std::min(first_used_number_[*step], number);
    }
    SliceId module = from;
    while (module != kNoSlice &&
           c.thread->role(slices.label[index(module)]) != TrainingRole::kForward) {
      module = slices.parent[index(module)];
    }
    const SliceId node = find_engine_node(trace, flows.to[i]);
    const auto call =
        std::lower_bound(calls_.begin(), calls_.end(), module,
                         [](const ModelCall& a, SliceId slice) { return a.slice < slice; });
    if (module == kNoSlice || call == calls_.end() || call->slice != module) {
      nodes.emplace_back(node, ModelCall::kNone);
      continue;
    }
    ++call->used_nodes;
    call->first_used_number = std::min(call->first_used_number, number);
    nodes.emplace_back(node, static_cast<uint32_t>(call - calls_.begin()));
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  // The engine takes a gradient to its parameter right after the node that made it.
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto [node, module] = nodes[i];
    if (module == ModelCall::kNone) continue;
    ModelCall& call = calls_[module];
    call.backward_ns += find_engine_ns(trace, node);
    const uint32_t end = i + 1 < nodes.size() ? index(nodes[i + 1].first) : slices.size();
    for (uint32_t row = index(node) + 1; row < end; ++row) {
      if (slices.depth[row] < slices.depth[index(node)]) break;
      if (slices.depth[row] != slices.depth[index(node)]) continue;
      const std::string_view name = trace.slice_name(SliceId{row});
      if (!name.starts_with(kEngineNodePrefix)) break;
      if (!name.ends_with("AccumulateGrad")) continue;
      call.backward_ns += find_engine_ns(trace, SliceId{row});
      bool is_added = false;
      for (uint32_t child = row + 1;
           child < slices.size() && slices.depth[child] > slices.depth[row]; ++child) {
        is_added |= trace.slice_name(SliceId{child}) == "aten::add_";
      }
      ++(is_added ? call.added_gradients : call.new_gradients);
    }
  }
}

void ModelCalls::add_to_parents() {
  for (size_t i = calls_.size(); i-- > 0;) {  // children come after their parents
    const ModelCall& call = calls_[i];
    if (call.parent == ModelCall::kNone) continue;
    ModelCall& parent = calls_[call.parent];
    parent.operators += call.operators;
    parent.operators_hash = parent.operators_hash * 1099511628211U + call.operators_hash;
    parent.used_nodes += call.used_nodes;
    parent.backward_ns += call.backward_ns;
    parent.first_used_number = std::min(parent.first_used_number, call.first_used_number);
    parent.new_gradients += call.new_gradients;
    parent.added_gradients += call.added_gradients;
  }
}

}  // namespace stepscope
