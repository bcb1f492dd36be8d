#include "serve/api_parameters.h"

#include <charconv>

namespace stepscope::serve {
namespace {

constexpr size_t kMaxShown = 40;

std::string describe(std::string_view text) {
  return "'" + std::string(text.substr(0, kMaxShown)) + (text.size() > kMaxShown ? "…'" : "'");
}

}  // namespace

std::optional<std::string_view> find_text(const ApiRequest& request, std::string_view name) {
  for (const auto& [key, value] : request.parameters) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::string get_text(const ApiRequest& request, std::string_view name) {
  return std::string(find_text(request, name).value_or(""));
}

Result<int64_t> parse_integer(std::string_view name, std::string_view text, int64_t least,
                              int64_t most) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    return Status::error(std::string(name) + ": expected a whole number from " +
                         std::to_string(least) + " to " + std::to_string(most) + ", found " +
                         describe(text));
  }
  return value;
}

Result<int64_t> get_integer(const ApiRequest& request, std::string_view name, int64_t otherwise,
                            int64_t least, int64_t most) {
  const auto text = find_text(request, name);
  return text ? parse_integer(name, *text, least, most) : otherwise;
}

Result<double> get_fraction(const ApiRequest& request, std::string_view name, double otherwise) {
  const auto text = find_text(request, name);
  if (!text) return otherwise;
  double value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || !(value >= 0 && value <= 1)) {
    return Status::error(std::string(name) + ": expected a number from 0 to 1, found " +
                         describe(*text));
  }
  return value;
}

Result<bool> get_flag(const ApiRequest& request, std::string_view name) {
  const auto text = find_text(request, name);
  if (!text || *text == "0" || *text == "false") return false;
  if (*text == "1" || *text == "true") return true;
  return Status::error(std::string(name) + ": expected 0 or 1, found " + describe(*text));
}

Result<std::optional<std::vector<uint32_t>>> get_list(const ApiRequest& request,
                                                      std::string_view name, size_t max_count) {
  const auto text = find_text(request, name);
  if (!text) return std::optional<std::vector<uint32_t>>();
  std::vector<uint32_t> values;
  for (const std::string_view part : split(*text, ',')) {
    const auto value = parse_integer(name, part, 0, UINT32_MAX);
    if (!value) return value.status();
    if (values.size() == max_count) {
      return Status::error(std::string(name) + ": more than " + std::to_string(max_count));
    }
    values.push_back(static_cast<uint32_t>(*value));
  }
  return std::optional(std::move(values));
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(at), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace stepscope::serve
