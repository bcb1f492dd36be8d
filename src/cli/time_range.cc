#include "cli/time_range.h"

#include <string>

#include "cli/quantity.h"

namespace stepscope::cli {
namespace {

Status bad_time(std::string_view text, const char* why) {
  return Status::error("--range: '" + std::string(text) + "' " + why);
}

Result<int64_t> parse_time(std::string_view text) {
  const Result<int64_t> ns = parse_duration_ns(text);
  return ns ? ns : Status::error("--range: " + ns.status().message());
}

}  // namespace

Result<TimeRange> parse_range(std::string_view text) {
  const size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    return bad_time(text, "is no range; write A..B, as in 1.5s..2s, 120ms.. or ..300us");
  }
  const std::string_view begin = text.substr(0, dots);
  const std::string_view end = text.substr(dots + 2);
  if (begin.empty() && end.empty()) return bad_time(text, "has neither a begin nor an end");
  TimeRange range;
  if (!begin.empty()) {
    const auto time = parse_time(begin);
    if (!time) return time.status();
    range.begin_ns = *time;
  }
  if (!end.empty()) {
    const auto time = parse_time(end);
    if (!time) return time.status();
    range.end_ns = *time;
  }
  if (range.begin_ns >= range.end_ns) return bad_time(text, "ends before it begins");
  return range;
}

}  // namespace stepscope::cli
