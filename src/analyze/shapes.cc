#include "analyze/shapes.h"

#include <charconv>
#include <utility>

namespace stepscope {
namespace {

std::optional<int64_t> parse_int(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::vector<InputShapes> parse_input_shapes(std::string_view dims_json) {
  std::vector<InputShapes> inputs;
  InputShapes input;
  Shape shape;
  int depth = 0;
  for (size_t i = 0; i < dims_json.size(); ++i) {
    const char c = dims_json[i];
    if (c == '[') {
      ++depth;
      if (depth == 3) input.is_list = true;
      if (depth > 3) return {};
    } else if (c == ']') {
      if (--depth < 0) return {};
      if (depth == 2 || (depth == 1 && !input.is_list)) {
        input.shapes.push_back(std::exchange(shape, {}));
      }
      if (depth == 1) {
        inputs.push_back(std::exchange(input, {}));
        shape.clear();
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
  return depth == 0 ? inputs : std::vector<InputShapes>{};
}

std::vector<Shape> parse_shapes(std::string_view dims_json) {
  std::vector<Shape> shapes;
  for (InputShapes& input : parse_input_shapes(dims_json)) {
    shapes.push_back(input.is_list ? Shape() : std::move(input.shapes[0]));
  }
  return shapes;
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

std::optional<Shape> parse_int_list(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  const auto shapes = parse_shapes("[" + std::string(text) + "]");
  if (shapes.size() != 1) return std::nullopt;
  return shapes.front();
}

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

}  // namespace stepscope
