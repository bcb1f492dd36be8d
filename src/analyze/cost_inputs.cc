#include "analyze/cost_inputs.h"

#include <algorithm>
#include <array>
#include <utility>

namespace stepscope {

CostInputs CostInputs::parse(const OperatorInputTexts& texts) {
  CostInputs inputs;
  std::vector<InputShapes> shapes = parse_input_shapes(texts.dims);
  const std::vector<std::string> types = parse_strings(texts.types);
  inputs.concrete = parse_strings(texts.concrete);
  inputs.has_types = !types.empty();
  for (size_t i = 0; i < shapes.size(); ++i) {
    CostInput& input = inputs.all.emplace_back();
    // Of a list no file says what is in it: parameters and gradients, nearly always.
    const std::string_view type = shapes[i].is_list  ? "float"
                                  : i < types.size() ? std::string_view(types[i])
                                                     : "";
    input.element_bytes = element_bytes(type);
    const bool has_sizes = shapes[i].is_list || !shapes[i].shapes[0].empty();
    input.is_tensor = inputs.has_types ? input.element_bytes > 0 : has_sizes;
    if (input.is_tensor) input.shapes = std::move(shapes[i].shapes);
  }
  return inputs;
}

const Shape* CostInputs::tensor(size_t i) const {
  return i < all.size() && all[i].is_tensor && all[i].shapes.size() == 1 ? &all[i].shapes[0]
                                                                         : nullptr;
}

std::optional<Shape> CostInputs::integers(size_t i, size_t axes) const {
  if (i >= concrete.size()) return std::nullopt;
  auto list = parse_int_list(concrete[i]);
  if (list && list->size() == 1) list->resize(axes, list->front());
  return list && list->size() == axes ? list : std::nullopt;
}

uint64_t CostInputs::positive_number(size_t i) const {
  const auto list =
      i < concrete.size() ? parse_int_list("[" + concrete[i] + "]") : std::optional<Shape>();
  return list && list->size() == 1 && list->front() > 0 ? static_cast<uint64_t>(list->front()) : 0;
}

uint64_t count_elements(std::span<const int64_t> shape) {
  uint64_t elements = 1;
  for (const int64_t size : shape) elements *= static_cast<uint64_t>(size);
  return elements;
}

uint64_t count_elements(const std::vector<Shape>& shapes) {
  uint64_t elements = 0;
  for (const Shape& shape : shapes) elements += count_elements(shape);
  return elements;
}

uint32_t element_bytes(std::string_view type) {
  struct Size {
    std::string_view name;
    uint32_t bytes;
  };
  static constexpr auto kSizes = std::to_array<Size>({
      {"float", 4},
      {"double", 8},
      {"c10::Half", 2},
      {"c10::BFloat16", 2},
      {"long int", 8},
      {"long", 8},
      {"int", 4},
      {"short int", 2},
      {"short", 2},
      {"signed char", 1},
      {"unsigned char", 1},
      {"bool", 1},
      {"c10::complex<float>", 8},
      {"c10::complex<double>", 16},
      {"c10::complex<c10::Half>", 4},
      {"c10::Float8_e4m3fn", 1},
      {"c10::Float8_e5m2", 1},
  });
  const auto size = std::find_if(kSizes.begin(), kSizes.end(),
                                 [&](const Size& known) { return known.name == type; });
  return size == kSizes.end() ? 0 : size->bytes;
}

}  // namespace stepscope
