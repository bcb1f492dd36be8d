// The shapes of an operator's inputs, as Kineto writes them ("Input Dims":
// [[64,3,7,7],[],[[2],[3]]]), and the lists of its other arguments ("Concrete Inputs").
//
//   canonical_shapes("[[64,3],[],[[2],[3]]]");   // "[[64, 3], [], []]"
//   parse_int_list("[1, 2]");                    // {1, 2}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

using Shape = std::vector<int64_t>;

// Of a tensor one shape, of a list of tensors as many; of anything else one that is empty.
struct InputShapes {
  std::vector<Shape> shapes;
  bool is_list = false;
};

// One entry per input. Text that is no list of these gives none.
std::vector<InputShapes> parse_input_shapes(std::string_view dims_json);
// The same where a list of tensors is an empty shape, as in torch's input_shapes.
std::vector<Shape> parse_shapes(std::string_view dims_json);
// How Python prints the same: the text that key_averages(group_by_input_shape=True) groups by.
std::string canonical_shapes(std::string_view dims_json);

// "[1, 2]"
std::optional<Shape> parse_int_list(std::string_view text);
// The strings of a JSON array of strings; other elements are taken as empty.
std::vector<std::string> parse_strings(std::string_view json);

}  // namespace stepscope
