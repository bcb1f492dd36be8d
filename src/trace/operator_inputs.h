// OperatorInputs: what an operator of PyTorch was called with, from the words of `inputs` records
// (docs/format.md, "Inputs of operators"), as the four texts that Kineto's files have.
//
//   OperatorInputs inputs(builder);
//   const InputTexts texts = inputs.decode(words);
//   // dims "[[4, 3], []]", types "[\"float\", \"Scalar\"]", strides, concrete "[\"\", \"1\"]"
//
// Calls repeat: each list of inputs is spelled out once, and found again by its words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "trace/ids.h"
#include "trace/trace_builder.h"

namespace stepscope {

struct InputTexts {
  StringId dims = kEmptyString;
  StringId types = kEmptyString;
  StringId strides = kEmptyString;
  StringId concrete = kEmptyString;
};

class OperatorInputs {
 public:
  explicit OperatorInputs(TraceBuilder& builder) : builder_(builder) {}

  // Words that no collector writes give what could be read of them.
  InputTexts decode(std::span<const uint64_t> words);

 private:
  TraceBuilder& builder_;
  std::unordered_map<std::string, InputTexts> known_;  // by the words' bytes
};

// The name that Kineto has for one of c10's scalar types; "" for one that is not known.
std::string_view scalar_type_name(uint32_t type);

}  // namespace stepscope
