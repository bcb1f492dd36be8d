#include "trace/slice_stream.h"

#include <algorithm>

#include "trace/trace.h"

namespace stepscope {

int64_t SliceBlock::find_long(size_t i) const {
  const uint32_t wanted = index(row(i));
  const auto at = std::lower_bound(long_dur_ns.begin(), long_dur_ns.end(), wanted,
                                   [](const auto& entry, uint32_t r) { return entry.first < r; });
  return at != long_dur_ns.end() && at->first == wanted ? at->second
                                                        : int64_t{DurationColumn::kLong};
}

Result<bool> TraceSliceStream::next(SliceBlock& block) {
  const auto tracks = trace_.tracks();
  while (next_track_ < tracks.size() && tracks[next_track_].slice_count == 0) ++next_track_;
  if (next_track_ == tracks.size()) return false;
  const Track& track = tracks[next_track_];
  const SliceColumns& slices = trace_.slices();
  const size_t first = track.first_slice;
  const size_t count = track.slice_count;
  block.track = TrackId{static_cast<uint32_t>(next_track_)};
  block.starts_track = true;
  block.first_row = track.first_slice;
  block.start_ns = std::span(slices.start_ns).subspan(first, count);
  block.short_dur_ns = slices.dur_ns.shorts().subspan(first, count);
  block.long_dur_ns = slices.dur_ns.longs();
  block.label = std::span(slices.label).subspan(first, count);
  block.args = trace_.args();
  ++next_track_;
  return true;
}

Status TraceSliceStream::rewind() {
  next_track_ = 0;
  return {};
}

const StringPool& TraceSliceStream::strings() const { return trace_.strings(); }
const LabelTable& TraceSliceStream::labels() const { return trace_.labels(); }
std::span<const Track> TraceSliceStream::tracks() const { return trace_.tracks(); }
std::span<const Device> TraceSliceStream::devices() const { return trace_.devices(); }

ArgCursor::ArgCursor(const SliceBlock& block, const StringPool& strings, std::string_view key,
                     ArgType type) {
  const auto id = strings.find(key);
  if (!id) return;
  for (const ArgColumn& column : block.args) {
    if (column.key != *id || column.type != type) continue;
    column_ = &column;
    next_ =
        static_cast<size_t>(std::lower_bound(column.rows.begin(), column.rows.end(), block.row(0)) -
                            column.rows.begin());
    return;
  }
}

}  // namespace stepscope
