// PythonStacks: the chains of Python calls around slices, innermost first, as the older exporters'
// "Call stack". What a backward operator does has the chain of the forward operator that it belongs
// to, so that it leads to the user's line and not to loss.backward().
//
//   const PythonStacks stacks(trace);
//   stacks.text(stacks.around(slice), 2);    // "model.py(7): forward;train.py(20): train"
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/flat_map.h"
#include "trace/trace.h"

namespace stepscope {

class PythonStacks {
 public:
  // Of a text. All that deeper recursions have around them would take the square of their depth.
  static constexpr int kMaxFunctions = 200;

  explicit PythonStacks(const Trace& trace);

  // The chain's number; 0 is none.
  uint32_t around(SliceId row) const { return around_[index(row)]; }
  // Of at most `depth` functions; 0 or less: all, up to kMaxFunctions and then "...".
  std::string text(uint32_t stack, int depth) const;

 private:
  struct Node {
    uint32_t outer;
    LabelId label;
  };

  uint32_t push(uint32_t outer, LabelId label);
  // Each slice's chain, from its parent's; those that `origin` has a row for, from that row's.
  void find_chains(const std::vector<SliceId>& origin);

  const Trace& trace_;
  std::vector<uint32_t> around_;  // by slice
  std::vector<Node> nodes_;
  FlatMap ids_;  // (outer, label) to number
};

}  // namespace stepscope
