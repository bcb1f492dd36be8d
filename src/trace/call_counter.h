// CallCounter: sums up the calls of functions, and of callers and callees, from slices that come
// block by block (SliceStream). CallGraph's lower half; recursion is as described there.
//
//   CallCounter counter(stream, scope, CallCounter::Edges::kCounted);
//   while (more blocks) counter.add(block);        // of tracks in the scope
//   counter.close_track();
//   for (const CallCounter::Function& function : counter.functions()) …
//
// Slices of unknown kind are counted too, as functions of their own that know nothing of the
// others: only the end of the stream tells whether it holds anything that is known to be a
// function, and where it does not every name is one.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/flat_map.h"
#include "trace/call_graph.h"
#include "trace/nesting.h"
#include "trace/slice_scope.h"
#include "trace/slice_stream.h"

namespace stepscope {

class CallCounter {
 public:
  enum class Edges : bool { kNone, kCounted };

  struct Function {
    StringId name;
    bool is_known;
    uint32_t open = 0;  // calls that are on the stack now
    CallCost cost;
  };
  struct Edge {
    uint32_t caller;  // index into functions()
    uint32_t callee;
    uint32_t open = 0;
    CallCost cost;
  };

  // Both must outlive it.
  CallCounter(const SliceStream& stream, const SliceScope& scope, Edges edges)
      : stream_(stream), scope_(scope), has_edges_(edges == Edges::kCounted) {}

  void add(const SliceBlock& block);
  // After the last block of a track; add() does it where a block starts the next one.
  void close_track();

  const std::vector<Function>& functions() const { return functions_; }
  const std::vector<Edge>& edges() const { return edges_; }
  // Starts anew, with the same numbers. Between tracks only.
  void reset_costs();

  bool has_known() const;
  // Of the host's slices; a tool may tell its kernels apart and nothing else.
  bool knows_no_kinds() const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct OpenCall {
    uint32_t function;
    uint32_t edge;  // kNone: not counted
  };
  struct LastEdge {
    uint32_t callee = kNone;
    uint32_t edge = kNone;
  };

  void learn_labels();
  void open(uint32_t function, bool is_counted);
  void close(const Nesting::Slice& slice);
  uint32_t find_edge(uint32_t caller, uint32_t callee);

  const SliceStream& stream_;
  const SliceScope& scope_;
  bool has_edges_;
  Nesting nesting_;
  std::array<std::vector<OpenCall>, 2> open_calls_;  // of unknown, of known kind
  std::vector<uint32_t> function_of_;                // by label; kNone: no function
  std::vector<uint32_t> kind_bits_;                  // by label; 0: has no place among calls
  std::vector<Function> functions_;
  std::vector<LastEdge> last_edge_;  // by caller: most calls repeat the one before
  std::vector<Edge> edges_;
  FlatMap edges_by_key_;
  std::unordered_map<uint64_t, uint32_t> functions_by_key_;
  uint32_t seen_kinds_ = 0;
};

}  // namespace stepscope
