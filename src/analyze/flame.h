// Merged stacks, for flame graphs, icicles and sandwiches: of slices, else of samples, else of the
// call edges of a .prof. The nodes come in pre-order, heavier siblings first, as columns.
//
//   FlameOptions options;
//   options.focus = 12;               // a function's id: only what lies at and below its calls
//   options.inverted = true;          // ... turned around: who called it
//   Flame flame = build_flame(trace, options);
//   flame.functions[flame.nodes.function[0]].name, flame.nodes.total_ns[0]
//
// Call edges have no paths. With a focus there are then two levels, which are exact: the function,
// and what it calls (or who calls it). Without one the tree is gprof's estimate: a function spends
// its time the same way whoever called it (is_estimate). Nothing here recurses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/slice_scope.h"
#include "trace/trace.h"

namespace stepscope {

struct FlameOptions {
  static constexpr double kDefaultLeast = 0.0005;

  SliceScope
      scope;  // on the trace's own clock; where it names no tracks, device streams are not in
  uint32_t kinds =
      kAllSliceKinds;  // slice_kind_bit(); slices of other kinds let what they hold through
  std::optional<uint32_t> focus;  // FlameFunction::id
  bool inverted = false;
  double least = kDefaultLeast;  // nodes with less of the whole are left out
  size_t max_nodes = 50'000;     // the lightest are left out beyond that
};

enum class FlameSource : uint8_t { kNothing, kSlices, kSamples, kCallEdges };

struct FlameFunction {
  // Of slices a LabelId: the first of those with this name. Of samples a FrameId, of call edges the
  // function's place in the call graph. A focus is asked for by it.
  uint32_t id = 0;
  std::string text;  // as the trace has it
  std::string name;  // without the place
  std::string file;  // "" where it is unknown
  int64_t line = 0;
  std::string category;  // of slices
  SliceKind kind = SliceKind::kOther;
};

struct FlameNodes {
  std::vector<int32_t> parent;     // a row; -1 at the top
  std::vector<uint32_t> function;  // into Flame::functions
  std::vector<int64_t> total_ns;
  std::vector<int64_t> self_ns;
  std::vector<uint64_t> calls;  // of samples: those that saw it

  size_t size() const { return parent.size(); }
};

struct Flame {
  FlameSource source = FlameSource::kNothing;
  std::vector<FlameFunction> functions;  // those in the nodes
  FlameNodes nodes;
  int64_t total_ns = 0;      // of all at the top
  uint64_t left_out = 0;     // nodes
  bool is_estimate = false;  // see above
  bool left_out_streams = false;
  uint32_t cut_at_level = 0;  // inverted stacks were cut there; 0: none was
};

Flame build_flame(const Trace& trace, const FlameOptions& options);

// The stacks of two traces in one tree, by the path of names (file and name, not the line: lines
// move). Siblings by the larger of their two times.
struct DiffFlame {
  struct Nodes {
    std::vector<int32_t> parent;
    std::vector<uint32_t> function;
    std::vector<int64_t> total_ns, other_ns;
    std::vector<int64_t> self_ns, other_self_ns;
    std::vector<uint64_t> calls, other_calls;

    size_t size() const { return parent.size(); }
  };

  std::vector<FlameFunction> functions;  // ids are those of the trace that has it, the first first
  Nodes nodes;
  int64_t total_ns = 0, other_ns = 0;
  uint64_t left_out = 0;
  FlameSource source = FlameSource::kNothing, other_source = FlameSource::kNothing;
};

// A node stays where it has `least` of its own trace in either. `focus` is not used.
DiffFlame build_diff_flame(const Trace& trace, const Trace& other, const FlameOptions& options);

}  // namespace stepscope
