// CallTree: who called what, merged by the path of functions over the tracks of a trace. Made of
// samples where its functions come from them (sample_weights.h), else of slices; a trace that has
// call edges alone (a .prof) has no paths, and its tree is empty. Children always come after their
// parents in nodes(); see path_tree.h.
//
//   const CallTree tree = CallTree::build(trace, {});
//   for (const uint32_t id : tree.heaviest_first()) {
//     const CallTree::Node& node = tree.nodes()[id];
//     print(node.depth, tree.function(node).name, node.calls, node.total_ns, node.self_ns());
//   }
//
// A million slices take some ten milliseconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/ids.h"
#include "trace/path_tree.h"
#include "trace/slice_scope.h"
#include "trace/trace.h"

namespace stepscope {

class CallTree {
 public:
  static constexpr uint32_t kRoot = PathTree::kRoot;
  using Node = PathTree::Node;  // calls of samples: those that saw it

  struct Function {
    std::string text;  // the slice's name; the frame's
    std::string name;  // the same without the place
    std::string file;  // "" where it is unknown
    int64_t line = 0;  // 0 where it is unknown
    uint32_t id = 0;   // of slices the first LabelId with that name, of samples the FrameId
  };

  enum class Source { kNothing, kSlices, kSamples };

  // Instants and the recording's own span have no place in the tree; steps that differ only in
  // their number are one function, ProfilerStep#*. Where neither tracks nor kinds are named, device
  // streams are left out: their kernels hold nothing and would stand beside the calls that launched
  // them. What is deeper than `max_levels` is only the time of children. Slices of kinds that are
  // not in `kinds` let what they hold through.
  static CallTree build(const Trace& trace, const SliceScope& scope,
                        uint32_t max_levels = UINT32_MAX, uint32_t kinds = kAllSliceKinds);

  const std::vector<Node>& nodes() const { return paths_.nodes(); }
  const std::vector<Function>& functions() const { return functions_; }
  const Function& function(const Node& node) const { return functions_[node.function]; }
  // The function of each label; empty where the tree is made of samples.
  const std::vector<uint32_t>& function_of_label() const { return function_of_label_; }
  Source source() const { return source_; }
  bool is_cpu_time() const { return is_cpu_time_; }  // of samples: CPU time, not wall time
  bool is_empty() const { return nodes().size() == 1; }
  bool left_out_streams() const { return left_out_streams_; }
  // Of all of it: what the shares are shares of.
  int64_t total_ns() const { return nodes()[kRoot].children_ns; }

  // All nodes but the root, each before its children, siblings by total time.
  std::vector<uint32_t> heaviest_first() const { return order_heaviest_first(nodes()); }

 private:
  CallTree(uint32_t max_levels, uint32_t kinds) : max_levels_(max_levels), kinds_(kinds) {}

  bool takes(SliceKind kind) const;
  void add_functions_of_labels(const Trace& trace);
  void add_track(const Trace& trace, const Track& track, const SliceScope& scope);
  void add_samples(const Trace& trace, const SliceScope& scope);

  PathTree paths_;
  std::vector<Function> functions_;
  std::vector<uint32_t> function_of_label_;
  uint32_t max_levels_;
  uint32_t kinds_;
  Source source_ = Source::kNothing;
  bool left_out_streams_ = false;
  bool is_cpu_time_ = false;
};

}  // namespace stepscope
