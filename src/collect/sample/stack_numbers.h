// StackNumbers: functions and stacks of all processes, by number. What is new is told to the sink
// first. The same function in two processes is one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/flat_map.h"
#include "collect/sample/sample_sink.h"

namespace stepscope::sample {

class StackNumbers {
 public:
  // Then what was known is forgotten, and told again under new numbers: memory stays bounded.
  static constexpr uint32_t kMaxStacks = 1 << 22;

  explicit StackNumbers(SampleSink& sink) : sink_(sink) {}

  uint32_t function(std::string_view name, std::string_view file, int32_t first_line);
  // A function and the line in it.
  uint32_t place(uint32_t function, int32_t line);
  // `parent`: the stack that called, or kNoParent.
  uint32_t stack(uint32_t parent, uint32_t place);

 private:
  struct Place {
    uint32_t function;
    int32_t line;
  };

  SampleSink& sink_;
  std::unordered_map<std::string, uint32_t> functions_;
  FlatMap place_by_key_;
  std::vector<Place> places_;
  FlatMap stack_by_key_;
  uint32_t stacks_ = 0;  // told so far
};

}  // namespace stepscope::sample
