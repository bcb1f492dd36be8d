#include "analyze/shapes.h"

#include <charconv>

namespace stepscope {
namespace {

using Shape = std::vector<int64_t>;

std::optional<int64_t> parse_int(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "[1, 2]" or "1": a list of integers as "Concrete Inputs" has it.
std::optional<Shape> parse_int_list(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  const auto shapes = parse_shapes("[" + std::string(text) + "]");
  if (shapes.size() != 1) return std::nullopt;
  return shapes.front();
}

// The strings of a JSON array of strings; other elements are taken as empty.
std::vector<std::string> parse_strings(std::string_view json) {
  std::vector<std::string> result;
  bool in_string = false;
  bool expects_element = false;
  std::string text;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\' && i + 1 < json.size()) {
        text += json[++i];
      } else if (c == '"') {
        in_string = false;
      } else {
        text += c;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' && !expects_element) {
      expects_element = true;
    } else if (c == ',' || c == ']') {
      result.push_back(std::move(text));
      text.clear();
    }
  }
  return result;
}

// Wraps around as torch's does.
uint64_t product(const Shape& shape) {
  uint64_t result = 1;
  for (const int64_t dim : shape) result *= static_cast<uint64_t>(dim);
  return result;
}

std::optional<uint64_t> matmul_flops(const std::vector<Shape>& shapes, size_t first, bool batched) {
  if (shapes.size() < first + 2) return std::nullopt;
  const Shape& left = shapes[first];
  if (left.empty() || left.back() == 0 || left.front() == 0) return std::nullopt;
  uint64_t flops = product(left) / static_cast<uint64_t>(left.back());
  if (batched) flops /= static_cast<uint64_t>(left.front());
  return 2 * flops * product(shapes[first + 1]);
}

std::optional<uint64_t> conv2d_flops(const std::vector<Shape>& shapes,
                                     std::string_view concrete_inputs_json) {
  const std::vector<std::string> inputs = parse_strings(concrete_inputs_json);
  if (shapes.size() < 2 || inputs.size() < 7) return std::nullopt;
  const Shape& input = shapes[0];
  const Shape& kernel = shapes[1];
  const auto stride = parse_int_list(inputs[3]);
  const auto padding = parse_int_list(inputs[4]);
  const auto dilation = parse_int_list(inputs[5]);
  const auto groups = parse_int(inputs[6]);
  if (input.size() != 4 || kernel.size() != 4 || !stride || stride->size() != 2 || !padding ||
      padding->size() != 2 || !dilation || dilation->size() != 2 || groups.value_or(0) <= 0) {
    return std::nullopt;
  }
  uint64_t outputs = 1;
  for (size_t axis = 0; axis < 2; ++axis) {
    const auto size = static_cast<uint64_t>(input[2 + axis]);
    const auto reach =
        static_cast<uint64_t>((*dilation)[axis]) * (static_cast<uint64_t>(kernel[2 + axis]) - 1);
    const auto step = static_cast<uint64_t>((*stride)[axis]);
    if (step == 0) return std::nullopt;
    outputs *= (size + 2 * static_cast<uint64_t>((*padding)[axis]) - reach - 1) / step + 1;
  }
  return 2 * outputs * static_cast<uint64_t>(input[0]) * static_cast<uint64_t>(input[1]) *
         static_cast<uint64_t>(kernel[0]) * static_cast<uint64_t>(kernel[2]) *
         static_cast<uint64_t>(kernel[3]) / static_cast<uint64_t>(*groups);
}

}  // namespace

std::vector<Shape> parse_shapes(std::string_view dims_json) {
  std::vector<Shape> shapes;
  int depth = 0;
  bool is_tensor_list = false;
  Shape shape;
  for (size_t i = 0; i < dims_json.size(); ++i) {
    const char c = dims_json[i];
    if (c == '[') {
      ++depth;
      if (depth == 3) is_tensor_list = true;
      if (depth > 3) return {};
    } else if (c == ']') {
      if (--depth < 0) return {};
      if (depth == 1) {
        if (is_tensor_list) shape.clear();
        shapes.push_back(std::move(shape));
        shape.clear();
        is_tensor_list = false;
      }
    } else if (c == '-' || (c >= '0' && c <= '9')) {
      const size_t begin = i;
      while (i + 1 < dims_json.size() && dims_json[i + 1] >= '0' && dims_json[i + 1] <= '9') ++i;
      const auto dim = parse_int(dims_json.substr(begin, i + 1 - begin));
      if (!dim || depth < 2) return {};
      shape.push_back(*dim);
    } else if (c != ',' && c != ' ' && c != '\n' && c != '\t' && c != '\r') {
      return {};
    }
  }
  return depth == 0 ? shapes : std::vector<Shape>{};
}

std::string canonical_shapes(std::string_view dims_json) {
  std::string text = "[";
  for (const Shape& shape : parse_shapes(dims_json)) {
    text += text.size() > 1 ? ", [" : "[";
    for (size_t i = 0; i < shape.size(); ++i) {
      if (i > 0) text += ", ";
      text += std::to_string(shape[i]);
    }
    text += "]";
  }
  return text + "]";
}

FlopsKind find_flops_kind(std::string_view operator_name) {
  if (operator_name == "aten::mm") return FlopsKind::kMatmul;
  if (operator_name == "aten::addmm") return FlopsKind::kAddMatmul;
  if (operator_name == "aten::bmm") return FlopsKind::kBatchMatmul;
  if (operator_name == "aten::baddbmm") return FlopsKind::kAddBatchMatmul;
  if (operator_name == "aten::mul" || operator_name == "aten::add") return FlopsKind::kElementwise;
  if (operator_name == "aten::conv2d") return FlopsKind::kConv2d;
  return FlopsKind::kNone;
}

std::optional<uint64_t> count_flops(FlopsKind kind, std::string_view dims_json,
                                    std::string_view concrete_inputs_json) {
  if (kind == FlopsKind::kNone) return std::nullopt;
  const std::vector<Shape> shapes = parse_shapes(dims_json);
  if (shapes.empty()) return std::nullopt;
  switch (kind) {
    case FlopsKind::kMatmul:
      return matmul_flops(shapes, 0, false);
    case FlopsKind::kAddMatmul:
      return matmul_flops(shapes, 1, false);
    case FlopsKind::kBatchMatmul:
      return matmul_flops(shapes, 0, true);
    case FlopsKind::kAddBatchMatmul:
      return matmul_flops(shapes, 1, true);
    case FlopsKind::kElementwise:
      return product(shapes[0]);
    case FlopsKind::kConv2d:
      return conv2d_flops(shapes, concrete_inputs_json);
    case FlopsKind::kNone:
      break;
  }
  return std::nullopt;
}

}  // namespace stepscope
