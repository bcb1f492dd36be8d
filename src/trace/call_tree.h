// CallTree: who called what, merged by the path of functions over the tracks of a trace. Made of
// slices, else of samples; a trace that has call edges alone (a .prof) has no paths, and its tree
// is empty. Children always come after their parents in nodes(). No recursion; memory goes with the
// number of distinct paths.
//
//   const CallTree tree = CallTree::build(trace, {});
//   for (const uint32_t id : tree.heaviest_first()) {
//     const CallTree::Node& node = tree.nodes()[id];
//     print(node.depth, tree.function(node).name, node.calls, node.total_ns, node.self_ns());
//   }
//
// A child is found by one probe of a hash table keyed by (parent node, function), so that a million
// slices take some ten milliseconds. Slow equivalent: std::map<std::vector<Function>, Node>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/saturating.h"
#include "trace/ids.h"
#include "trace/slice_scope.h"
#include "trace/trace.h"

namespace stepscope {

class CallTree {
 public:
  static constexpr uint32_t kRoot = 0;  // holds no call of its own

  struct Node {
    uint32_t parent = kRoot;
    uint32_t function = 0;  // into functions()
    uint32_t depth = 0;     // of kRoot's children: 0
    uint64_t calls = 0;     // of samples: those that saw it
    int64_t total_ns = 0;
    int64_t children_ns = 0;       // of direct children, kept or too deep
    uint32_t followed_by = kRoot;  // what child() gave the last time after this node

    // Below 0 where children overlap each other.
    int64_t self_ns() const { return subtract_saturating(total_ns, children_ns); }
  };

  struct Function {
    std::string text;  // the slice's name; the frame's
    std::string name;  // the same without the place
    std::string file;  // "" where it is unknown
    int64_t line = 0;  // 0 where it is unknown
  };

  enum class Source { kNothing, kSlices, kSamples };

  // Instants and the recording's own span have no place in the tree; steps that differ only in
  // their number are one function, ProfilerStep#*. Where no tracks are named, device streams are
  // left out: their kernels hold nothing and would stand beside the calls that launched them. What
  // is deeper than `max_levels` is only the time of children.
  static CallTree build(const Trace& trace, const SliceScope& scope,
                        uint32_t max_levels = UINT32_MAX);

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Function>& functions() const { return functions_; }
  const Function& function(const Node& node) const { return functions_[node.function]; }
  Source source() const { return source_; }
  bool is_empty() const { return nodes_.size() == 1; }
  bool left_out_streams() const { return left_out_streams_; }
  // Of all of it: what the shares are shares of.
  int64_t total_ns() const { return nodes_[kRoot].children_ns; }

  // All nodes but the root, each before its children, siblings by total time.
  std::vector<uint32_t> heaviest_first() const;

 private:
  explicit CallTree(uint32_t max_levels);

  // The node of that function under `parent`, made where there is none.
  uint32_t child(uint32_t parent, uint32_t function) {
    // Programs repeat themselves: what came after the last node once mostly comes after it again.
    const uint32_t guess = nodes_[last_].followed_by;
    const bool is_right =
        guess != kRoot && nodes_[guess].parent == parent && nodes_[guess].function == function;
    const uint32_t id = is_right ? guess : find_or_add(parent, function);
    nodes_[last_].followed_by = id;
    return last_ = id;
  }
  uint32_t find_or_add(uint32_t parent, uint32_t function);
  void grow();
  size_t slot_of(uint32_t parent, uint32_t function) const;
  std::vector<uint32_t> add_functions_of_labels(const Trace& trace);
  void add_track(const Trace& trace, const Track& track, const SliceScope& scope,
                 const std::vector<uint32_t>& function_of_label);
  void add_samples(const Trace& trace, const SliceScope& scope);

  std::vector<Node> nodes_;
  std::vector<Function> functions_;
  uint32_t last_ = kRoot;        // what child() gave
  std::vector<uint32_t> slots_;  // node ids, open addressing, a power of two; 0 is free
  uint32_t max_levels_;
  Source source_ = Source::kNothing;
  bool left_out_streams_ = false;
};

}  // namespace stepscope
