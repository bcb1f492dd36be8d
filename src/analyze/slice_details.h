// All that a trace knows of one slice, for whoever clicked on it: who holds it, its arguments, the
// Python calls around it, and the slices that arrows and launches tie it to.
//
//   Result<SliceDetails> details = describe_slice(trace, SliceId{17});
//   details->self_ns, details->parents.front().name, details->links.size()
//
// Times are ns from the trace's begin. Texts refer to the trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "trace/function_name.h"
#include "trace/trace.h"

namespace stepscope {

// What it takes to show a slice in a list and to go there.
struct SlicePlace {
  SliceId slice = kNoSlice;
  TrackId track{};
  LabelId label{};
  int64_t start_ns = 0;
  int64_t dur_ns = 0;
  uint16_t depth = 0;
  std::string_view name;
};
SlicePlace place_of_slice(const Trace& trace, SliceId slice);

struct SliceArgument {
  std::string_view key;
  std::string json;  // the value, always valid JSON
};

// A slice that this one leads to, or comes from.
struct SliceLink {
  SlicePlace other;
  bool is_out = false;    // from this slice to the other
  std::string_view what;  // the arrow's name ("ac2g", "fwdbwd"); "launch" by correlation
};

struct SliceDetails {
  static constexpr size_t kMaxParents = 1'000;
  static constexpr size_t kMaxLinks = 1'000;
  static constexpr size_t kMaxStack = 1'000;

  SlicePlace place;
  std::string_view category;
  SliceKind kind = SliceKind::kOther;
  int64_t self_ns = 0;  // below 0 where children overlap each other
  uint32_t children = 0;
  std::vector<SlicePlace> parents;  // innermost first; the outer ones beyond kMaxParents are cut
  std::vector<SliceArgument> args;  // in the order of the trace's columns
  // The Python calls around it, innermost first. What a backward operator does has those of the
  // forward operator that it belongs to.
  std::vector<FunctionName> stack;
  bool is_forward_stack = false;
  std::string_view file;  // where it is: its own place, else that of the innermost Python call
  int64_t line = 0;       // 0: unknown
  std::vector<SliceLink> links;  // those that come in first, then by start
  uint64_t links_left_out = 0;
};

// Fails where there is no such slice. O(arrows + launches + children).
Result<SliceDetails> describe_slice(const Trace& trace, SliceId slice);

}  // namespace stepscope
