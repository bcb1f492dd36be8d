#include "collect/sample/stack_numbers.h"

namespace stepscope::sample {

uint32_t StackNumbers::function(std::string_view name, std::string_view file, int32_t first_line) {
  std::string key(name);
  key.append(1, '\0').append(file).append(1, '\0').append(std::to_string(first_line));
  const auto number = static_cast<uint32_t>(functions_.size());
  const auto [known, is_new] = functions_.try_emplace(std::move(key), number);
  if (is_new) sink_.add_function(number, name, file, first_line);
  return known->second;
}

uint32_t StackNumbers::place(uint32_t function, int32_t line) {
  const uint64_t key = uint64_t{function} << 32 | static_cast<uint32_t>(line);
  const auto [number, is_new] =
      place_by_key_.try_emplace(key, static_cast<uint32_t>(places_.size()));
  if (is_new) places_.push_back({function, line});
  return number;
}

uint32_t StackNumbers::stack(uint32_t parent, uint32_t place) {
  if (stack_by_key_.size() >= kMaxStacks) stack_by_key_ = {};
  const uint64_t key = uint64_t{parent} << 32 | place;
  const auto [number, is_new] = stack_by_key_.try_emplace(key, stacks_);
  if (is_new) {
    sink_.add_stack(number, parent, places_[place].function, places_[place].line);
    ++stacks_;
  }
  return number;
}

}  // namespace stepscope::sample
