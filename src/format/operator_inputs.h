// What `inputs` records say of an operator's inputs: docs/format.md, "Inputs of operators", is
// normative. Plain numbers, because a collector that is built elsewhere includes them too.
#pragma once

#include <cstdint>

namespace stepscope::format {

enum class InputKind : uint8_t {
  kOther = 0,
  kTensor = 1,
  kUndefinedTensor = 2,
  kTensorList = 3,
  kInt = 4,
  kDouble = 5,
  kBool = 6,
  kIntList = 7,
  kDoubleList = 8,
  kBoolList = 9,
  kScalar = 10,
};

inline constexpr uint32_t kInputHasStrides = 1;
inline constexpr uint32_t kInputIsWide = 2;  // each size and stride takes two values

}  // namespace stepscope::format
