// What the timeline asks: tracks, tiles, labels, one slice, slices by name.
#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analyze/slice_details.h"
#include "analyze/slice_search.h"
#include "analyze/timeline_tiles.h"
#include "serve/api_parameters.h"
#include "serve/api_requests.h"
#include "serve/json_writer.h"
#include "trace/track_title.h"

namespace stepscope::serve {
namespace {

constexpr size_t kMaxTiles = 256;
constexpr size_t kMaxTileBytes = size_t{64} << 20;  // of one answer
constexpr size_t kMaxLabels = 1'000;
constexpr int64_t kMaxMatches = 100'000;
constexpr int64_t kDefaultMatches = 1'000;

// A file that does not say what a counter counts may have it in the name.
std::string_view find_unit(const Trace& trace, const Track& track) {
  if (track.kind != TrackKind::kCounter) return "";
  if (track.unit != kEmptyString) return trace.string(track.unit);
  const std::string_view name = trace.string(track.name);
  const std::string_view series = trace.string(track.series);
  const bool is_bytes =
      name.ends_with("bytes") || series.ends_with("bytes") || name.ends_with("Bytes");
  return is_bytes ? "bytes" : "";
}

// Processes as their file wants them, threads before counters.
std::vector<uint32_t> order_tracks(const Trace& trace) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < trace.tracks().size(); ++i) {
    const Track& track = trace.tracks()[i];
    if (track.slice_count > 0 || track.value_count > 0) order.push_back(i);
  }
  const auto key = [&](uint32_t id) {
    const Track& track = trace.tracks()[id];
    const bool has_process = track.process < trace.processes().size();
    const int64_t process_index = has_process ? trace.processes()[track.process].sort_index : 0;
    return std::tuple(process_index, track.process, track.kind == TrackKind::kCounter,
                      track.sort_index, id);
  };
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  return order;
}

void write_foreign_id(JsonWriter& json, std::string_view name, const Trace& trace,
                      const ForeignId& id) {
  if (id.text != kEmptyString) {
    json.field(name, trace.string(id.text));
  } else {
    json.field(name, id.number);
  }
}

void write_track(JsonWriter& json, const Trace& trace, const TimelineTiles& tiles, uint32_t id) {
  const Track& track = trace.tracks()[id];
  const bool is_counter = track.kind == TrackKind::kCounter;
  json.begin_object();
  json.field("id", id);
  json.field("process", track.process);
  json.field("kind", track_kind_name(track.kind));
  // A counter's series is a field of its own.
  json.field("name",
             is_counter ? std::string(trace.string(track.name)) : track_name(trace, TrackId{id}));
  json.field("series", trace.string(track.series));
  json.field("unit", find_unit(trace, track));
  json.field("slices", track.slice_count);
  json.field("values", track.value_count);
  json.field("depth", tiles.depth(id));
  if (track.device >= 0) {
    json.field("device", track.device);
  } else {
    json.null_field("device");
  }
  const TimelineTiles::Extremes extremes = tiles.find_extremes(trace, track);
  if (extremes.least <= extremes.most) {
    json.field("min", extremes.least);
    json.field("max", extremes.most);
  } else {
    json.null_field("min");
    json.null_field("max");
  }
  json.end_object();
}

void write_place(JsonWriter& json, const SlicePlace& place) {
  json.field("slice", index(place.slice));
  json.field("track", index(place.track));
  json.field("start_ns", place.start_ns);
  json.field("dur_ns", place.dur_ns);
  json.field("depth", place.depth);
  json.field("name", place.name);
  json.field("label", index(place.label));
}

std::string describe_function(const FunctionName& function) {
  std::string text(function.name);
  if (!function.file.empty()) {
    text += " (" + std::string(function.file);
    if (function.line > 0) text += ":" + std::to_string(function.line);
    text += ")";
  }
  return text;
}

void write_details(JsonWriter& json, const SliceDetails& details) {
  json.field("id", index(details.place.slice));
  write_place(json, details.place);
  json.field("category", details.category);
  json.field("kind", kind_name(details.kind));
  json.field("self_ns", details.self_ns);
  json.field("children", details.children);
  json.key("parents").begin_array();
  for (const SlicePlace& parent : details.parents) {
    json.begin_object();
    json.field("id", index(parent.slice));
    write_place(json, parent);
    json.end_object();
  }
  json.end_array();
  json.key("args").begin_array();
  for (const SliceArgument& argument : details.args) {
    json.begin_object();
    json.field("key", argument.key);
    json.key("value").raw(argument.json);
    json.end_object();
  }
  json.end_array();
  json.key("stack").begin_array();
  for (const FunctionName& function : details.stack) json.value(describe_function(function));
  json.end_array();
  json.field("is_forward_stack", details.is_forward_stack);
  json.field("file", details.file);
  if (details.line > 0) {
    json.field("line", details.line);
  } else {
    json.null_field("line");
  }
  json.key("flows").begin_array();
  for (const SliceLink& link : details.links) {
    json.begin_object();
    write_place(json, link.other);
    json.field("is_out", link.is_out);
    json.field("what", link.what);
    json.end_object();
  }
  json.end_array();
  json.field("flows_left_out", details.links_left_out);
}

// "TRACK.INDEX".
Result<TileKey> parse_tile(std::string_view text, uint32_t level) {
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos) {
    return Status::error("want: expected TRACK.INDEX with commas between");
  }
  const auto track = parse_integer("want", text.substr(0, dot), 0, UINT32_MAX);
  if (!track) return track.status();
  const auto at = parse_integer("want", text.substr(dot + 1), 0, INT64_MAX);
  if (!at) return at.status();
  return TileKey{static_cast<uint32_t>(*track), level, static_cast<uint64_t>(*at)};
}

}  // namespace

ApiAnswer answer_tracks(const OpenRun& run, const ApiRequest&) {
  const Trace& trace = *run.trace;
  JsonWriter json;
  json.begin_object();
  json.key("processes").begin_array();
  for (uint32_t i = 0; i < trace.processes().size(); ++i) {
    const Process& process = trace.processes()[i];
    json.begin_object();
    json.field("id", i);
    write_foreign_id(json, "pid", trace, process.pid);
    json.field("name", trace.string(process.name));
    json.field("labels", trace.string(process.labels));
    json.end_object();
  }
  json.end_array();
  json.key("tracks").begin_array();
  const auto tiles = TimelineTiles::of(trace);
  for (const uint32_t id : order_tracks(trace)) write_track(json, trace, *tiles, id);
  json.end_array();
  json.end_object();
  return ApiAnswer::json(std::move(json).text());
}

ApiAnswer answer_tiles(const OpenRun& run, const ApiRequest& request, TileCache& cache) {
  const auto level = get_integer(request, "level", 0, 0, 63);
  if (!level) return ApiAnswer::error(kStatusBadRequest, level.status().message());
  const std::string want = get_text(request, "want");
  const auto parts = split(want, ',');
  if (parts.empty() || parts.size() > kMaxTiles) {
    return ApiAnswer::error(kStatusBadRequest, "want: expected 1 to 256 tiles");
  }
  std::vector<TileKey> keys;
  for (const std::string_view part : parts) {
    const auto key = parse_tile(part, static_cast<uint32_t>(*level));
    if (!key) return ApiAnswer::error(kStatusBadRequest, key.status().message());
    keys.push_back(*key);
  }
  const auto tiles = TimelineTiles::of(*run.trace);
  ApiAnswer answer{kStatusFine, std::string(kBytesType), {}};
  for (const TileKey& key : keys) {
    if (request.should_stop && request.should_stop()) {
      return ApiAnswer::error(kStatusFault, "stopped");
    }
    const TileCache::Key place(run.id, run.version, key.track, key.level, key.index);
    std::shared_ptr<const std::string> tile = cache.find(place);
    if (!tile) {
      std::string bytes;
      const Status status = tiles->append_tile(*run.trace, key, bytes);
      if (!status) return ApiAnswer::error(kStatusNotFound, status.message());
      tile = std::make_shared<const std::string>(std::move(bytes));
      cache.add(place, tile);
    }
    if (answer.body.size() + tile->size() > kMaxTileBytes) {
      return ApiAnswer::error(kStatusBadRequest, "want: more than 64 MB; ask for fewer tiles");
    }
    answer.body += *tile;
  }
  return answer;
}

ApiAnswer answer_labels(const OpenRun& run, const ApiRequest& request) {
  const auto ids = get_list(request, "ids", kMaxLabels);
  if (!ids) return ApiAnswer::error(kStatusBadRequest, ids.status().message());
  if (!*ids)
    return ApiAnswer::error(kStatusBadRequest, "ids: expected numbers with commas between");
  const Trace& trace = *run.trace;
  JsonWriter json;
  json.begin_object();
  json.key("labels").begin_array();
  for (const uint32_t id : **ids) {
    if (id >= trace.labels().size()) {
      return ApiAnswer::error(kStatusNotFound, "no label " + std::to_string(id));
    }
    const Label& label = trace.labels()[LabelId{id}];
    json.begin_object();
    json.field("id", id);
    json.field("name", trace.string(label.name));
    json.field("category", trace.string(label.category));
    json.field("kind", kind_name(label.kind));
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return ApiAnswer::json(std::move(json).text());
}

ApiAnswer answer_slice(const OpenRun& run, const ApiRequest& request) {
  const auto id = get_integer(request, "id", 0, 0, UINT32_MAX);
  if (!id) return ApiAnswer::error(kStatusBadRequest, id.status().message());
  const auto details = describe_slice(*run.trace, SliceId{static_cast<uint32_t>(*id)});
  if (!details) return ApiAnswer::error(kStatusNotFound, details.status().message());
  JsonWriter json;
  json.begin_object();
  write_details(json, *details);
  json.end_object();
  return ApiAnswer::json(std::move(json).text());
}

ApiAnswer answer_search(const OpenRun& run, const ApiRequest& request) {
  const auto limit = get_integer(request, "limit", kDefaultMatches, 0, kMaxMatches);
  if (!limit) return ApiAnswer::error(kStatusBadRequest, limit.status().message());
  const auto found = search_slices(*run.trace, get_text(request, "q"), static_cast<size_t>(*limit));
  if (!found) return ApiAnswer::error(kStatusBadRequest, found.status().message());
  JsonWriter json;
  json.begin_object();
  json.field("total", found->total);
  json.key("matches").begin_array();
  for (const SlicePlace& place : found->matches) {
    json.begin_object();
    write_place(json, place);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return ApiAnswer::json(std::move(json).text());
}

}  // namespace stepscope::serve
