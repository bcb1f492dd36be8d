// What flame graphs and the picture of memory ask.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyze/flame.h"
#include "analyze/memory_flow.h"
#include "base/saturating.h"
#include "serve/api_parameters.h"
#include "serve/api_requests.h"
#include "serve/json_writer.h"
#include "trace/sample_weights.h"

namespace stepscope::serve {
namespace {

constexpr size_t kMaxTracks = 10'000;
constexpr int64_t kMaxRectangles = 200'000;

std::string_view source_name(FlameSource source) {
  switch (source) {
    case FlameSource::kSlices:
      return "slices";
    case FlameSource::kSamples:
      return "samples";
    case FlameSource::kCallEdges:
      return "call edges";
    case FlameSource::kNothing:
      break;
  }
  return "nothing";
}

template <typename T>
void write_column(JsonWriter& json, std::string_view name, const std::vector<T>& column) {
  json.key(name).begin_array();
  for (const T& value : column) json.value(value);
  json.end_array();
}

// The ids of functions are what the nodes refer to.
void write_labels(JsonWriter& json, const std::vector<FlameFunction>& functions) {
  json.key("labels").begin_array();
  for (const FlameFunction& function : functions) {
    json.begin_object();
    json.field("id", function.id);
    json.field("name", function.text.empty() ? function.name : function.text);
    json.field("category", function.category);
    json.field("kind", kind_name(function.kind));
    json.field("function", function.name);
    json.field("file", function.file);
    json.field("line", function.line);
    json.end_object();
  }
  json.end_array();
}

Status read_kinds(std::string_view text, uint32_t& kinds) {
  if (text.empty()) return {};
  kinds = 0;
  for (const std::string_view name : split(text, ',')) {
    const auto kind = find_kind(name);
    if (!kind)
      return Status::error("kind: no kind of slices is called '" + std::string(name) + "'");
    kinds |= slice_kind_bit(*kind);
  }
  return {};
}

Result<FlameOptions> read_options(const Trace& trace, const ApiRequest& request) {
  FlameOptions options;
  const auto begin_ns = get_integer(request, "begin_ns", 0, 0, INT64_MAX);
  if (!begin_ns) return begin_ns.status();
  const auto end_ns = get_integer(request, "end_ns", INT64_MAX, 0, INT64_MAX);
  if (!end_ns) return end_ns.status();
  if (*begin_ns > 0) options.scope.begin_ns = add_saturating(trace.begin_ns(), *begin_ns);
  if (*end_ns < INT64_MAX) options.scope.end_ns = add_saturating(trace.begin_ns(), *end_ns);
  const auto tracks = get_list(request, "tracks", kMaxTracks);
  if (!tracks) return tracks.status();
  if (*tracks) {
    options.scope.tracks.assign(trace.tracks().size(), 0);
    for (const uint32_t track : **tracks) {
      if (track >= trace.tracks().size()) {
        return Status::error("tracks: no track " + std::to_string(track));
      }
      options.scope.tracks[track] = 1;
    }
  }
  if (Status status = read_kinds(get_text(request, "kind"), options.kinds); !status) return status;
  if (find_text(request, "label")) {
    const auto label = get_integer(request, "label", 0, 0, UINT32_MAX);
    if (!label) return label.status();
    options.focus = static_cast<uint32_t>(*label);
  }
  const auto weight = parse_sample_weight(get_text(request, "weight"));
  if (!weight) return Status::error("weight: must be cpu or wall");
  options.scope.sample_weight = *weight;
  const auto inverted = get_flag(request, "inverted");
  if (!inverted) return inverted.status();
  options.inverted = *inverted;
  const auto least = get_fraction(request, "least", FlameOptions::kDefaultLeast);
  if (!least) return least.status();
  options.least = *least;
  return options;
}

// Nodes name functions by their place in `functions`; the page knows them by id.
std::vector<uint32_t> ids_of(const std::vector<uint32_t>& places,
                             const std::vector<FlameFunction>& functions) {
  std::vector<uint32_t> ids;
  ids.reserve(places.size());
  for (const uint32_t place : places) ids.push_back(functions[place].id);
  return ids;
}

}  // namespace

ApiAnswer answer_flame(const OpenRun& run, const ApiRequest& request) {
  const auto options = read_options(*run.trace, request);
  if (!options) return ApiAnswer::error(kStatusBadRequest, options.status().message());
  const Flame flame = build_flame(*run.trace, *options);
  JsonWriter json;
  json.begin_object();
  json.field("source", source_name(flame.source));
  json.field("total_ns", flame.total_ns);
  json.field("left_out", flame.left_out);
  json.field("is_estimate", flame.is_estimate);
  json.field("left_out_streams", flame.left_out_streams);
  json.field("cut_at_level", flame.cut_at_level);
  json.key("nodes").begin_object();
  write_column(json, "parent", flame.nodes.parent);
  write_column(json, "label", ids_of(flame.nodes.function, flame.functions));
  write_column(json, "total_ns", flame.nodes.total_ns);
  write_column(json, "self_ns", flame.nodes.self_ns);
  write_column(json, "calls", flame.nodes.calls);
  json.end_object();
  write_labels(json, flame.functions);
  json.end_object();
  return ApiAnswer::json(std::move(json).text());
}

ApiAnswer answer_diff_flame(const OpenRun& a, const OpenRun& b, const ApiRequest& request) {
  FlameOptions options;
  const auto least = get_fraction(request, "least", FlameOptions::kDefaultLeast);
  if (!least) return ApiAnswer::error(kStatusBadRequest, least.status().message());
  options.least = *least;
  if (Status status = read_kinds(get_text(request, "kind"), options.kinds); !status) {
    return ApiAnswer::error(kStatusBadRequest, status.message());
  }
  DiffFlame flame = build_diff_flame(*a.trace, *b.trace, options);
  // The ids are of two traces: here a function's place stands for it.
  for (uint32_t i = 0; i < flame.functions.size(); ++i) flame.functions[i].id = i;
  JsonWriter json;
  json.begin_object();
  json.field("source", source_name(flame.source));
  json.field("other_source", source_name(flame.other_source));
  json.field("total_ns", flame.total_ns);
  json.field("other_ns", flame.other_ns);
  json.field("left_out", flame.left_out);
  json.key("nodes").begin_object();
  write_column(json, "parent", flame.nodes.parent);
  write_column(json, "label", flame.nodes.function);
  write_column(json, "total_ns", flame.nodes.total_ns);
  write_column(json, "other_ns", flame.nodes.other_ns);
  write_column(json, "self_ns", flame.nodes.self_ns);
  write_column(json, "other_self_ns", flame.nodes.other_self_ns);
  write_column(json, "calls", flame.nodes.calls);
  write_column(json, "other_calls", flame.nodes.other_calls);
  json.end_object();
  write_labels(json, flame.functions);
  json.end_object();
  return ApiAnswer::json(std::move(json).text());
}

ApiAnswer answer_memory_flow(const OpenRun& run, const ApiRequest& request) {
  MemoryFlowOptions options;
  options.device = get_text(request, "device");
  const auto limit =
      get_integer(request, "limit", static_cast<int64_t>(options.limit), 1, kMaxRectangles);
  if (!limit) return ApiAnswer::error(kStatusBadRequest, limit.status().message());
  options.limit = static_cast<size_t>(*limit);
  const MemoryFlow flow = build_memory_flow(*run.trace, options);
  JsonWriter json;
  json.begin_object();
  json.key("devices").begin_array();
  for (const MemoryFlowDevice& device : flow.devices) {
    json.begin_object();
    json.field("name", device.name);
    json.field("process", device.process);
    json.field("peak_bytes", device.peak_bytes);
    json.end_object();
  }
  json.end_array();
  json.field("device",
             flow.device < flow.devices.size() ? flow.devices[flow.device].name : std::string());
  json.field("total", flow.total);
  json.field("left_out", flow.left_out);
  json.field("left_out_bytes", flow.left_out_bytes);
  json.field("without_address", flow.without_address);
  json.field("peak_bytes", flow.peak_bytes);
  json.field("peak_ns", flow.peak_ns);
  json.field("is_judged", flow.is_judged);
  json.key("ranges").begin_array();
  for (const AddressRange& range : flow.ranges) {
    json.begin_object();
    json.field("address", range.address);
    json.field("bytes", range.bytes);
    json.field("offset", range.offset);
    json.end_object();
  }
  json.end_array();
  json.key("columns").begin_object();
  const auto write = [&](std::string_view name, auto get) {
    json.key(name).begin_array();
    for (const MemoryRectangle& rectangle : flow.rectangles) json.value(get(rectangle));
    json.end_array();
  };
  using Rectangle = MemoryRectangle;
  write("address", [](const Rectangle& of) { return of.address; });
  write("offset", [](const Rectangle& of) { return of.offset; });
  write("bytes", [](const Rectangle& of) { return of.bytes; });
  write("begin_ns", [](const Rectangle& of) { return of.begin_ns; });
  write("end_ns", [](const Rectangle& of) { return of.end_ns; });
  write("is_open", [](const Rectangle& of) { return of.is_open; });
  write("category", [](const Rectangle& of) {
    return kMemoryCategoryNames[static_cast<size_t>(of.category)].one;
  });
  write("label", [](const Rectangle& of) { return of.operator_name; });
  write("slice", [](const Rectangle& of) {
    return of.slice == kNoSlice ? int64_t{-1} : int64_t{index(of.slice)};
  });
  json.end_object();
  json.end_object();
  return ApiAnswer::json(std::move(json).text());
}

}  // namespace stepscope::serve
