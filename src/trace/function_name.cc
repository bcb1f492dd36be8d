#include "trace/function_name.h"

#include <charconv>
#include <optional>

namespace stepscope {
namespace {

std::optional<int64_t> parse_line(std::string_view digits) {
  int64_t line = 0;
  const char* const end = digits.data() + digits.size();
  if (digits.empty() || digits.front() == '-') return std::nullopt;
  const auto [stop, error] = std::from_chars(digits.data(), end, line);
  if (error != std::errc() || stop != end) return std::nullopt;
  return line;
}

std::optional<FunctionName> parse_kineto(std::string_view text) {
  const size_t close = text.find("): ");
  if (close == std::string_view::npos) return std::nullopt;
  const size_t open = text.rfind('(', close);
  if (open == std::string_view::npos || open == 0) return std::nullopt;
  const auto line = parse_line(text.substr(open + 1, close - open - 1));
  if (!line) return std::nullopt;
  return FunctionName{text.substr(close + 3), text.substr(0, open), *line};
}

std::optional<FunctionName> parse_viztracer(std::string_view text) {
  if (!text.ends_with(')')) return std::nullopt;
  const size_t open = text.rfind(" (");
  if (open == std::string_view::npos || open == 0) return std::nullopt;
  const std::string_view place = text.substr(open + 2, text.size() - open - 3);
  const size_t colon = place.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const auto line = parse_line(place.substr(colon + 1));
  if (!line) return std::nullopt;
  return FunctionName{text.substr(0, open), place.substr(0, colon), *line};
}

}  // namespace

FunctionName parse_function_name(std::string_view text) {
  if (const auto name = parse_kineto(text)) return *name;
  if (const auto name = parse_viztracer(text)) return *name;
  return {text, "", 0};
}

std::string_view last_name(std::string_view name) {
  // A name in brackets may have a point in it: "<generic parameters of A.f>".
  const size_t open = name.ends_with('>') ? name.rfind('<') : std::string_view::npos;
  const size_t point = open == std::string_view::npos ? name.rfind('.') : name.rfind('.', open);
  return point == std::string_view::npos ? name : name.substr(point + 1);
}

}  // namespace stepscope
