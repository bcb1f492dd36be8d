#include "analyze/python_stacks.h"

namespace stepscope {

PythonStacks::PythonStacks(const Trace& trace) : trace_(trace) {
  find_chains({});
  // A forward operator may lie behind the backward one: its chain is known after the first pass.
  const FlowColumns& flows = trace.flows();
  std::vector<SliceId> origin;
  for (size_t i = 0; i < flows.from.size(); ++i) {
    if (trace.string(trace.labels()[flows.label[i]].name) != "fwdbwd") continue;
    if (flows.from[i] == kNoSlice || flows.to[i] == kNoSlice) continue;
    if (origin.empty()) origin.assign(trace.slices().size(), kNoSlice);
    origin[index(flows.to[i])] = flows.from[i];
  }
  if (!origin.empty()) find_chains(origin);
}

// A parent comes before its children, so that one pass finds the chain of every slice.
void PythonStacks::find_chains(const std::vector<SliceId>& origin) {
  const SliceColumns& slices = trace_.slices();
  const std::vector<uint32_t> of_forward = around_;
  around_.resize(slices.size());
  for (uint32_t row = 0; row < slices.size(); ++row) {
    const SliceId parent = slices.parent[row];
    uint32_t stack = 0;
    if (!origin.empty() && origin[row] != kNoSlice) {
      stack = of_forward[index(origin[row])];
    } else if (parent != kNoSlice) {
      stack = around_[index(parent)];
      const LabelId label = slices.label[index(parent)];
      if (trace_.labels()[label].kind == SliceKind::kPython) stack = push(stack, label);
    }
    around_[row] = stack;
  }
}

uint32_t PythonStacks::push(uint32_t outer, LabelId label) {
  const auto [id, is_new] = ids_.try_emplace(uint64_t{outer} << 32 | index(label),
                                             static_cast<uint32_t>(nodes_.size() + 1));
  if (is_new) nodes_.push_back({outer, label});
  return id;
}

std::string PythonStacks::text(uint32_t stack, int depth) const {
  std::string text;
  for (int functions = 0; stack != 0; stack = nodes_[stack - 1].outer, ++functions) {
    if (depth > 0 && functions == depth) break;
    if (functions > 0) text += ';';
    if (functions == kMaxFunctions) return text + "...";
    text += trace_.string(trace_.labels()[nodes_[stack - 1].label].name);
  }
  return text;
}

}  // namespace stepscope
