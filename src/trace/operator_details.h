// OperatorDetails: what a recording says of single operators beyond their times, made into the
// arguments that Kineto's files have, and the arrows from forward operators to the backward ones
// that belong to them.
//
//   OperatorDetails details(builder);
//   details.add_operator(slice, words);   // as each comes
//   details.add_inputs(slice, words);     // a long list in several pieces
//   details.finish();                     // arrows
//
// An arrow's ends have one sequence number. Among forward operators of one number the last is the
// one that autograd made a node for, as torch.profiler has it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/flat_map.h"
#include "trace/operator_inputs.h"
#include "trace/trace_builder.h"

namespace stepscope {

class OperatorDetails {
 public:
  explicit OperatorDetails(TraceBuilder& builder) : builder_(builder), inputs_(builder) {}

  void add_operator(SliceRef slice, std::span<const uint64_t> words);
  void add_inputs(SliceRef slice, std::span<const uint64_t> words);
  void finish();

 private:
  // A node of autograd's graph: torch's number of the forward thread, and the sequence number.
  static uint64_t node(uint64_t thread, uint64_t sequence) { return thread << 40 | sequence; }

  void set_columns();
  void write_inputs();

  struct Columns {
    ArgColumnRef sequence, forward_thread, dims, types, strides, concrete;
  };

  TraceBuilder& builder_;
  OperatorInputs inputs_;
  std::optional<Columns> columns_;
  FlatMap forward_;  // node to slice
  std::vector<std::pair<uint64_t, SliceRef>> backward_;
  SliceRef inputs_of_ = kNoSliceRef;  // whose inputs are being read
  std::vector<uint64_t> input_words_;
};

}  // namespace stepscope
