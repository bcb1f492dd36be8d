// The calls of tf.data's iterators in a trace, and which call asked for which: by nesting where a
// parent asks on its own thread, and by element where another thread produced it ahead of time.
// (A Produce event with an element's id holds what was called for it; the Consume event with the
// same id lies in the call that took it.) Ids are compared by their 64 bits, as files have them
// signed or unsigned. Input pipelines (input_pipelines.h) are made of these.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace stepscope {

inline constexpr uint32_t kNoCall = UINT32_MAX;

struct IteratorCall {
  uint32_t row = 0;  // its slice
  uint32_t parent = kNoCall;
  int64_t id = 0;         // of the iterator
  int64_t parent_id = 0;  // 0: a root, which the program itself calls
};

// A function of the user's (of a map, a filter, …) that an iterator ran.
struct FunctionRun {
  uint32_t row = 0;
  uint32_t call = kNoCall;  // of the iterator that ran it, as far as it is known
  int64_t executor_ns = 0;  // of all threads that worked on it; 0 where none was recorded
  bool is_async = false;    // it was only started here
};

struct InputCalls {
  std::vector<IteratorCall> calls;  // by slice
  std::vector<FunctionRun> runs;
  uint64_t orphans = 0;  // calls whose parent's call was not recorded

  static InputCalls collect(const Trace& trace);
};

// Whether a label is an iterator's: "Iterator::Root::Prefetch".
bool is_iterator_name(std::string_view name);

}  // namespace stepscope
