#include "analyze/slice_filter.h"

#include "analyze/pattern.h"
#include "base/saturating.h"
#include "trace/sample_weights.h"
#include "trace/track_title.h"

#include <charconv>
#include <limits>
#include <optional>

namespace stepscope {
namespace {

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

Result<SliceFilter> SliceFilter::make(const Trace& trace, const TableOptions& options) {
  SliceFilter filter;
  const auto weight = parse_sample_weight(options.weight);
  if (!weight) return Status::error("--weight " + options.weight + ": samples have cpu and wall");
  filter.scope_.sample_weight = *weight;
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
