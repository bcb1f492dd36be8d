#include "trace/track_title.h"

namespace stepscope {
namespace {

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

}  // namespace

std::string track_name(const Trace& trace, TrackId id) {
  const Track& track = trace.tracks()[index(id)];
  std::string_view name = trace.string(track.name);
  while (name.ends_with(' ')) name.remove_suffix(1);
  if (track.kind == TrackKind::kCounter) {
    // A counter with several series is a track for each.
    const std::string_view series = trace.string(track.series);
    const bool is_plain = series.empty() || series == "value" || series == name;
    return is_plain ? std::string(name) : std::string(name).append(".").append(series);
  }
  const std::string number = track.kind == TrackKind::kStream && track.stream >= 0
                                 ? std::to_string(track.stream)
                                 : trace.id_text(track.tid);
  // Files often have the number in the name already: "thread 25772 (python)".
  if (has_number(name, number)) return std::string(name);
  std::string text = std::string(track_kind_name(track.kind)) + " " + number;
  if (!name.empty()) text.append(" (").append(name).append(")");
  return text;
}

std::string track_title(const Trace& trace, TrackId id) {
  const Track& track = trace.tracks()[index(id)];
  std::string title;
  if (track.process < trace.processes().size()) {
    const Process& process = trace.processes()[track.process];
    title = trace.string(process.name);
    const std::string pid = trace.id_text(process.pid);
    if (title != pid) title += (title.empty() ? "" : " ") + pid;
  }
  if (track.kind == TrackKind::kStream && track.device >= 0) {
    title += " / device " + std::to_string(track.device);
  }
  return title + " / " + track_name(trace, id);
}

}  // namespace stepscope
