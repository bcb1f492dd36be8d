#include "analyze/slice_filter.h"

#include "analyze/pattern.h"
#include "base/saturating.h"

#include <charconv>
#include <limits>
#include <optional>

namespace stepscope {
namespace {

std::string foreign_id_text(const Trace& trace, const ForeignId& id) {
  if (id.text != kEmptyString) return std::string(trace.string(id.text));
  return std::to_string(id.number);
}

// Whether the digits stand in the text on their own: 10 is not in "worker 101".
bool has_number(std::string_view text, std::string_view digits) {
  const auto is_digit = [&](size_t i) {
    return i < text.size() && text[i] >= '0' && text[i] <= '9';
  };
  for (size_t at = text.find(digits); at != std::string_view::npos;
       at = text.find(digits, at + 1)) {
    if (!(at > 0 && is_digit(at - 1)) && !is_digit(at + digits.size())) return true;
  }
  return false;
}

std::optional<int64_t> parse_number(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// A number is a track's id as the view `tracks` shows it; where there is no such track, a thread's
// or a stream's number.
bool take_by_number(const Trace& trace, int64_t number, std::vector<uint8_t>& taken) {
  if (number >= 0 && static_cast<uint64_t>(number) < taken.size()) {
    taken[static_cast<size_t>(number)] = 1;
    return true;
  }
  bool any = false;
  for (size_t i = 0; i < taken.size(); ++i) {
    const Track& track = trace.tracks()[i];
    const bool same = track.kind == TrackKind::kStream
                          ? track.stream == number
                          : track.tid.text == kEmptyString && track.tid.number == number;
    taken[i] = same && track.kind != TrackKind::kCounter;
    any = any || taken[i] != 0;
  }
  return any;
}

}  // namespace

std::string track_title(const Trace& trace, TrackId id) {
  const Track& track = trace.tracks()[index(id)];
  std::string title;
  if (track.process < trace.processes().size()) {
    const Process& process = trace.processes()[track.process];
    title = trace.string(process.name);
    const std::string pid = foreign_id_text(trace, process.pid);
    if (title != pid) title += (title.empty() ? "" : " ") + pid;
  }
  std::string_view name = trace.string(track.name);
  while (name.ends_with(' ')) name.remove_suffix(1);
  std::string number = foreign_id_text(trace, track.tid);
  std::string_view kind = "thread";
  switch (track.kind) {
    case TrackKind::kThread:
      break;
    case TrackKind::kCounter: {
      // A counter with several series is a track for each.
      const std::string_view series = trace.string(track.series);
      const bool is_plain = series.empty() || series == "value" || series == name;
      title.append(" / ").append(name);
      return is_plain ? title : title.append(".").append(series);
    }
    case TrackKind::kAsync:
      kind = "async";
      break;
    case TrackKind::kStream:
      kind = "stream";
      if (track.device >= 0) title += " / device " + std::to_string(track.device);
      if (track.stream >= 0) number = std::to_string(track.stream);
      break;
  }
  // Files often have the number in the name already: "thread 25772 (python)".
  if (has_number(name, number)) return title + " / " + std::string(name);
  title += " / " + std::string(kind) + " " + number;
  if (!name.empty()) title += " (" + std::string(name) + ")";
  return title;
}

Result<SliceFilter> SliceFilter::make(const Trace& trace, const TableOptions& options) {
  SliceFilter filter;
  if (options.range.begin_ns > options.range.end_ns) {
    return Status::error("--range: begins after its end");
  }
  if (options.range.begin_ns != 0 || options.range.end_ns != INT64_MAX) {
    filter.takes_all_ = false;
    filter.scope_.begin_ns = add_saturating(trace.begin_ns(), options.range.begin_ns);
    filter.scope_.end_ns = add_saturating(trace.begin_ns(), options.range.end_ns);
  }
  if (options.track.empty()) return filter;

  filter.takes_all_ = false;
  filter.scope_.tracks.assign(trace.tracks().size(), 0);
  bool any = false;
  if (const auto number = parse_number(options.track)) {
    any = take_by_number(trace, *number, filter.scope_.tracks);
  } else {
    Result<Pattern> pattern = Pattern::make(options.track);
    if (!pattern) return pattern.status();
    for (uint32_t i = 0; i < filter.scope_.tracks.size(); ++i) {
      filter.scope_.tracks[i] = pattern->matches(track_title(trace, TrackId{i}));
      any = any || filter.scope_.tracks[i] != 0;
    }
  }
  if (!any) {
    return Status::error("--track: no track matches '" + options.track +
                         "'; the view tracks lists them");
  }
  return filter;
}

}  // namespace stepscope
