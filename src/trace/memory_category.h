// What memory of a training program is held for: torch's categories, by torch's numbers (the order
// in its exported memory timelines) and with its meaning.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stepscope {

enum class MemoryCategory : uint8_t {
  kParameter = 0,   // weights, and the buffers of modules
  kOptimizerState,  // momentum, moments
  kInput,           // what the model is fed
  kTemporary,       // gone before the phase that took it is over
  kActivation,      // made going forward, kept for the backward pass
  kGradient,        // of parameters: made by a backward pass, there when it is over
  kAutogradDetail,  // made and gone within a backward pass: gradients of activations
  kUnknown,
};
inline constexpr size_t kMemoryCategoryCount = 8;

struct MemoryCategoryName {
  std::string_view one;   // "gradient"
  std::string_view many;  // "gradients"
};
// By category.
inline constexpr std::array<MemoryCategoryName, kMemoryCategoryCount> kMemoryCategoryNames = {{
    {"parameter", "parameters"},
    {"optimizer state", "optimizer state"},
    {"input", "inputs"},
    {"temporary", "temporaries"},
    {"activation", "activations"},
    {"gradient", "gradients"},
    {"autograd detail", "autograd details"},
    {"unknown", "unknown"},
}};

}  // namespace stepscope
