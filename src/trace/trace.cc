#include "trace/trace.h"

#include <algorithm>

namespace stepscope {

std::string_view track_kind_name(TrackKind kind) {
  switch (kind) {
    case TrackKind::kThread:
      return "thread";
    case TrackKind::kStream:
      return "stream";
    case TrackKind::kAsync:
      return "async";
    case TrackKind::kCounter:
      return "counter";
  }
  return "";
}

TrackId Trace::find_track_of(SliceId id) const {
  // Tracks without slices share their first_slice with the next one: the last that starts at or
  // before the row and is not empty is the one.
  const auto after =
      std::upper_bound(data_.tracks.begin(), data_.tracks.end(), index(id),
                       [](uint32_t row, const Track& track) { return row < track.first_slice; });
  auto at = after - 1;
  while (at != data_.tracks.begin() && at->slice_count == 0) --at;
  return TrackId{static_cast<uint32_t>(at - data_.tracks.begin())};
}

const ArgColumn* Trace::find_args(std::string_view key, ArgType type) const {
  const auto id = data_.strings.find(key);
  if (!id) return nullptr;
  for (const ArgColumn& column : data_.args) {
    if (column.key == *id && column.type == type) return &column;
  }
  return nullptr;
}

void Trace::set_metadata(std::string_view key, std::string_view json) {
  std::erase_if(data_.metadata,
                [&](const MetadataEntry& entry) { return string(entry.key) == key; });
  data_.metadata.push_back({data_.strings.intern(key), data_.strings.intern(json), true});
}

std::string_view Trace::find_metadata(std::string_view key) const {
  for (const MetadataEntry& entry : data_.metadata) {
    if (string(entry.key) == key) return string(entry.value);
  }
  return {};
}

}  // namespace stepscope
