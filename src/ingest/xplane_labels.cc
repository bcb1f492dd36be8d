#include "ingest/xplane_labels.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "trace/tensorflow_scopes.h"

namespace stepscope::xplane {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
bool is_of_identifier(char c) {
  return is_digit(c) || is_capital(c) || (c >= 'a' && c <= 'z') || c == '_';
}

// The number that the text starts with; nullopt where it starts with none, or with one too large.
template <typename T>
std::optional<T> leading_number(std::string_view text) {
  T number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  return number;
}

// "MatMul" of "StatefulPartitionedCall/MatMul:MatMul"; "" where it is no such name.
std::string_view operator_type(std::string_view name, std::string_view display_name) {
  const size_t colon = name.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || name[colon - 1] == ':') return {};
  const std::string_view type = name.substr(colon + 1);
  if (type.empty()) return {};
  if (type == display_name) return type;
  const bool is_type =
      is_capital(type.front()) && std::all_of(type.begin(), type.end(), is_of_identifier);
  return is_type && name.substr(0, colon).find(' ') == std::string_view::npos ? type
                                                                              : std::string_view();
}

// The Python tracer's "$file.py:12 function" as other tools write it: "file.py(12): function".
// Functions of C are "$module function".
std::string python_name(std::string_view text) {
  for (size_t colon = text.find(':'); colon != text.npos; colon = text.find(':', colon + 1)) {
    size_t end = colon + 1;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (colon == 0 || end == colon + 1 || end == text.size() || text[end] != ' ') continue;
    return std::string(text.substr(0, colon)) + "(" +
           std::string(text.substr(colon + 1, end - colon - 1)) +
           "): " + std::string(text.substr(end + 1));
  }
  std::string name(text);
  const size_t blank = name.find(' ');
  if (blank != name.npos && blank != 0 && !name.starts_with('<')) name[blank] = '.';
  return name;
}

EventLabel label_on_host(std::string_view name, std::string_view display_name) {
  if (name.starts_with("Iterator::")) return {std::string(name), "tf_data", SliceKind::kOther};
  if (name.size() > 1 && name.front() == '$') {
    return {python_name(name.substr(1)), "python_function", SliceKind::kPython};
  }
  const std::string_view type = operator_type(name, display_name);
  if (!type.empty()) return {std::string(type), "tf_op", SliceKind::kOperator, true};
  if (name.starts_with("ThreadpoolListener::")) {
    return {std::string(name), "", SliceKind::kInstant, false, true};
  }
  if (name.starts_with("ExecutorState::Process")) {
    return {std::string(name), kExecutorCategory, SliceKind::kCall, false, true};
  }
  const bool is_function = name.find("::") != std::string_view::npos;
  return {std::string(name), "", is_function ? SliceKind::kCall : SliceKind::kOther, false, true};
}

EventLabel label_on_stream(std::string_view name) {
  if (name.starts_with("Memcpy")) return {std::string(name), "gpu_memcpy", SliceKind::kMemcpy};
  if (name.starts_with("Memset")) return {std::string(name), "gpu_memset", SliceKind::kMemset};
  return {std::string(name), "kernel", SliceKind::kKernel};
}

// while.2, conditional.1, call: what they call is on the line as well, within them.
bool is_control_flow(std::string_view name) {
  for (const std::string_view word : {"while", "conditional", "call"}) {
    if (!name.starts_with(word)) continue;
    const std::string_view rest = name.substr(word.size());
    if (rest.empty() || rest.front() == '.') return true;
  }
  return false;
}

// A TPU's operations have their whole HLO text for a name.
std::string short_name(std::string_view name, std::string_view display_name) {
  return std::string(display_name.empty() ? name : display_name);
}

}  // namespace

PlaneRole role_of_plane(std::string_view name) {
  constexpr std::string_view kDevice = "/device:";
  PlaneRole role;
  role.is_runtime = name == "/host:CUPTI" || name == "/host:ROCTRACER";
  if (!name.starts_with(kDevice)) return role;
  role.is_device = true;
  const std::string_view device = name.substr(kDevice.size());
  const size_t colon = device.find(':');
  role.has_streams = device.substr(0, colon) == "GPU";
  role.device = 0;
  if (colon != device.npos) {
    role.device = leading_number<int32_t>(device.substr(colon + 1)).value_or(0);
  }
  return role;
}

LinePlace place_of_line(const PlaneRole& plane, std::string_view name, int64_t id) {
  constexpr std::string_view kStream = "Stream #";
  if (plane.is_runtime) return {LineRole::kRuntime};
  if (!plane.is_device) return {LineRole::kHost};
  if (name.starts_with(kStream)) {
    return {LineRole::kStream, leading_number<int64_t>(name.substr(kStream.size())).value_or(id)};
  }
  if (!plane.has_streams && name == "XLA Ops") return {LineRole::kDeviceOps, id};
  return {LineRole::kAnnotation};
}

std::string_view name_of_line(std::string_view name) {
  const size_t slash = name.rfind('/');
  if (slash == name.npos || slash == 0) return name;
  std::string_view number = name.substr(slash + 1);
  if (number.starts_with('-')) number.remove_prefix(1);
  const bool is_number = !number.empty() && std::all_of(number.begin(), number.end(), is_digit);
  return is_number ? name.substr(0, slash) : name;
}

EventLabel label_of_event(std::string_view name, std::string_view display_name, LineRole role,
                          std::string_view line_name) {
  switch (role) {
    case LineRole::kRuntime:
      return {std::string(name), "cuda_runtime", SliceKind::kRuntime};
    case LineRole::kStream:
      return label_on_stream(name);
    case LineRole::kDeviceOps: {
      const std::string op = short_name(name, display_name);
      return {op, "xla_op",
              is_control_flow(op) ? SliceKind::kDeviceAnnotation : SliceKind::kKernel};
    }
    case LineRole::kAnnotation:
      return {short_name(name, display_name), line_name, SliceKind::kDeviceAnnotation};
    case LineRole::kHost:
      break;
  }
  return label_on_host(name, display_name);
}

}  // namespace stepscope::xplane
