// The shapes of an operator's inputs, as Kineto writes them ("Input Dims":
// [[64,3,7,7],[],[[2],[3]]]), and the floating-point operations that torch.profiler's with_flops
// works out from them.
//
//   canonical_shapes("[[64,3],[],[[2],[3]]]");                          // "[[64, 3], [], []]"
//   Flops flops = find_flops_kind("aten::mm");
//   count_flops(flops, "[[8,16],[16,4]]", "");                           // 1024
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

// One entry per input; a scalar's and a list of tensors' is empty, as in torch's input_shapes. Text
// that is no list of lists of integers gives no shapes.
std::vector<std::vector<int64_t>> parse_shapes(std::string_view dims_json);
// How Python prints the same: the text that key_averages(group_by_input_shape=True) groups by.
std::string canonical_shapes(std::string_view dims_json);

enum class FlopsKind : uint8_t {
  kNone = 0,
  kMatmul,
  kAddMatmul,
  kBatchMatmul,
  kAddBatchMatmul,
  kElementwise,
  kConv2d
};
FlopsKind find_flops_kind(std::string_view operator_name);
// nullopt where torch counts none. concrete_inputs_json ("Concrete Inputs") is needed by kConv2d
// only.
std::optional<uint64_t> count_flops(FlopsKind kind, std::string_view dims_json,
                                    std::string_view concrete_inputs_json);

}  // namespace stepscope
