#include "ingest/megengine_static.h"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "ingest/json_text.h"
#include "ingest/read_whole.h"
#include "trace/static_profile.h"
#include "trace/trace_builder.h"

namespace stepscope {
namespace {

namespace dom = simdjson::dom;

// Profiles are some hundred bytes per operator of a graph; the parser holds text and tree at once.
constexpr size_t kMaxStaticProfileBytes = size_t{512} << 20;

std::optional<int64_t> find_ns(dom::object times, std::string_view key) {
  double seconds = 0;
  if (times[key].get(seconds)) return std::nullopt;
  constexpr double kMaxSeconds = 2e9;
  return std::llround(std::clamp(seconds, -kMaxSeconds, kMaxSeconds) * 1e9);
}

class StaticProfile {
 public:
  StaticProfile(TraceBuilder& builder, dom::object root) : builder_(builder) {
    dom::object profiler;
    if (root["profiler"].get(profiler)) return;
    dom::object members;
    if (root["graph_exec"]["operator"].get(members) == simdjson::SUCCESS) {
      operators_ = by_key(members);
      int64_t place = 0;
      for (const dom::key_value_pair member : members) places_.try_emplace(member.key, place++);
    }
    if (root["graph_exec"]["var"].get(members) == simdjson::SUCCESS) variables_ = by_key(members);
    if (profiler["opr_footprint"].get(members) == simdjson::SUCCESS) footprints_ = by_key(members);
    dom::object times;
    if (profiler["host"].get(times) == simdjson::SUCCESS) add_slices(times, true);
    if (profiler["device"].get(times) == simdjson::SUCCESS) add_slices(times, false);
  }

 private:
  struct Place {
    SliceRef slice;
    int64_t start_ns;
  };
  // simdjson finds a key by walking over all before it.
  using ByKey = std::unordered_map<std::string_view, dom::object>;

  static ByKey by_key(dom::object members) {
    ByKey found;
    for (const dom::key_value_pair member : members) {
      dom::object object;
      if (member.value.get(object) == simdjson::SUCCESS) found[member.key] = object;
    }
    return found;
  }

  void add_slices(dom::object operators, bool is_host) {
    for (const dom::key_value_pair of_operator : operators) {
      dom::object places;
      if (of_operator.value.get(places)) {
        skip("an operator without places");
        continue;
      }
      for (const dom::key_value_pair place : places) {
        dom::object times;
        if (place.value.get(times) == simdjson::SUCCESS) {
          add_slice(of_operator.key, place.key, times, is_host);
        } else {
          skip("a place without times");
        }
      }
    }
  }

  void add_slice(std::string_view id, std::string_view place, dom::object times, bool is_host) {
    const auto start_ns = find_ns(times, "start");
    const auto end_ns = find_ns(times, "end");
    if (!start_ns || !end_ns) return skip("an operator without start and end");
    builder_.stats().add(Stat::kEventsRead);
    std::string_view name = id;
    std::string_view type;
    if (const auto about = operators_.find(id); about != operators_.end()) {
      if (about->second["name"].get(name)) name = id;
      if (about->second["type"].get(type)) type = {};
    }
    const LabelId label =
        builder_.label(name, type, is_host ? SliceKind::kOperator : SliceKind::kKernel);
    const TrackId track = is_host ? host_track(place) : device_track(place);
    const SliceRef slice = builder_.add_slice(track, *start_ns, *end_ns - *start_ns, label);
    add_args(slice, id, type);
    if (const auto kern_ns = find_ns(times, "kern")) {
      builder_.add_int(builder_.arg_column(static_profile::kKernNs, ArgType::kInt), slice,
                       *kern_ns - *start_ns);
    }
    if (is_host) {
      host_slices_.try_emplace(id, Place{slice, *start_ns});
    } else if (const auto host = host_slices_.find(id); host != host_slices_.end()) {
      builder_.add_flow(host->second.slice, slice, host->second.start_ns, *start_ns,
                        parse_id(id).value_or(0),
                        builder_.label("dispatch", "", SliceKind::kOther));
    }
  }

  void add_args(SliceRef slice, std::string_view id, std::string_view type) {
    if (const auto number = parse_int(id)) {
      builder_.add_int(builder_.arg_column(static_profile::kId, ArgType::kInt), slice, *number);
    } else {
      builder_.add_string(builder_.arg_column(static_profile::kId, ArgType::kString), slice,
                          builder_.string(id));
    }
    if (!type.empty()) {
      builder_.add_string(builder_.arg_column(static_profile::kType, ArgType::kString), slice,
                          builder_.string(type));
    }
    if (const auto place = places_.find(id); place != places_.end()) {
      builder_.add_int(builder_.arg_column(static_profile::kPlace, ArgType::kInt), slice,
                       place->second);
    }
    add_input_types(slice, id);
    const auto found = footprints_.find(id);
    if (found == footprints_.end()) return;
    const dom::object footprint = found->second;
    for (const std::string_view key : {static_profile::kComputation, static_profile::kMemory}) {
      int64_t value = 0;
      if (footprint[key].get(value) == simdjson::SUCCESS) {
        builder_.add_int(builder_.arg_column(key, ArgType::kInt), slice, value);
      }
    }
    for (const std::string_view key : {static_profile::kInShapes, static_profile::kInLayouts,
                                       static_profile::kOutShapes, static_profile::kParam}) {
      dom::element value;
      if (footprint[key].get(value) == simdjson::SUCCESS && !value.is_null()) {
        builder_.add_string(builder_.arg_column(key, ArgType::kJson), slice,
                            builder_.string(simdjson::minify(value)));
      }
    }
  }

  // Of inputs whose memory was planned; MegEngine says nothing of the others.
  void add_input_types(SliceRef slice, std::string_view id) {
    const auto about = operators_.find(id);
    dom::array inputs;
    if (about == operators_.end() || about->second["input"].get(inputs)) return;
    std::string types;
    for (const dom::element input : inputs) {
      std::string_view variable;
      std::string_view type;
      if (input.get(variable)) continue;
      const auto found = variables_.find(variable);
      if (found == variables_.end()) continue;
      if (found->second["mem_plan"]["layout"]["dtype"].get(type)) continue;
      if (types.find(type) != types.npos) continue;
      types += (types.empty() ? "" : ",") + std::string(type);
    }
    if (types.empty()) return;
    builder_.add_string(builder_.arg_column(static_profile::kInputTypes, ArgType::kString), slice,
                        builder_.string(types));
  }

  TrackId host_track(std::string_view place) {
    const TrackId track = builder_.add_thread({}, {0, builder_.string(place)});
    builder_.track(track).name = builder_.string(place);
    return track;
  }

  // `CompNode("gpu0:1" from "gpu0:1")` is stream 1 of device 0.
  TrackId device_track(std::string_view place) {
    const TrackId id = host_track(place);
    Track& track = builder_.track(id);
    track.kind = TrackKind::kStream;
    if (const size_t quote = place.find('"'); quote != std::string_view::npos) {
      place = place.substr(quote + 1);
      place = place.substr(0, place.find('"'));
    }
    const size_t colon = place.find(':');
    const size_t digits = place.find_first_of("0123456789");
    if (colon == std::string_view::npos) return id;
    track.stream = parse_int(place.substr(colon + 1)).value_or(-1);
    if (digits < colon) {
      const int64_t device = parse_int(place.substr(digits, colon - digits)).value_or(-1);
      track.device = device >= 0 && device < 4096 ? static_cast<int32_t>(device) : -1;
    }
    return id;
  }

  void skip(std::string_view why) {
    builder_.stats().add(Stat::kEventsRead);
    builder_.stats().add(Stat::kEventsSkipped);
    builder_.stats().note(std::string(why) + " is skipped");
  }

  TraceBuilder& builder_;
  ByKey operators_;
  ByKey footprints_;
  ByKey variables_;
  std::unordered_map<std::string_view, int64_t> places_;     // in the file's list of operators
  std::unordered_map<std::string_view, Place> host_slices_;  // by operator
};

}  // namespace

bool looks_like_megengine_static(std::string_view head) {
  size_t at = skip_space(head, 0);
  if (at >= head.size() || head[at] != '{') return false;
  at = skip_space(head, at + 1);
  const std::string_view key = head.substr(std::min(at, head.size()));
  return key.starts_with("\"profiler\"") || key.starts_with("\"graph_exec\"");
}

Result<Trace> load_megengine_static(ByteSource& source, const LoadOptions& options) {
  Result<std::string> text =
      read_whole(source, kMaxStaticProfileBytes, "a MegEngine profile", options);
  if (!text) return text.status();
  dom::parser parser;
  dom::object root;
  const simdjson::error_code error = parser.parse(*text).get(root);
  if (error) {
    return Status::error(source.name() + ": a MegEngine profile, but not valid JSON: " +
                         (source.truncated() ? source.fault() : simdjson::error_message(error)));
  }
  dom::object device;
  if (root["profiler"]["device"].get(device)) {
    return Status::error(source.name() + ": a MegEngine profile without \"profiler\".\"device\"");
  }
  TraceBuilder builder;
  { const StaticProfile profile(builder, root); }
  builder.set_format("MegEngine static profile");
  builder.set_source(source.name());
  return std::move(builder).finish();
}

}  // namespace stepscope
