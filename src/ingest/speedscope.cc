#include "ingest/speedscope.h"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ingest/json_text.h"
#include "ingest/read_whole.h"
#include "trace/trace_builder.h"

namespace stepscope {
namespace {

namespace dom = simdjson::dom;

// The parser holds text and tree at once: some five times the file.
constexpr size_t kMaxSpeedscopeBytes = size_t{512} << 20;

std::string_view text_of(dom::object object, std::string_view key) {
  std::string_view text;
  if (object[key].get(text)) return {};
  return text;
}

// What a value of a profile is in ns (or in bytes, or in its own unknown unit).
struct Unit {
  double factor = 1;
  std::string_view word;  // of the metadata; "" for times
};

Unit unit_of(std::string_view name) {
  if (name == "nanoseconds") return {1, ""};
  if (name == "microseconds") return {1e3, ""};
  if (name == "milliseconds") return {1e6, ""};
  if (name == "seconds") return {1e9, ""};
  return {1, name == "bytes" ? "bytes" : "none"};
}

std::optional<int64_t> value_of(dom::element element, const Unit& unit) {
  int64_t whole = 0;
  constexpr int64_t kMax = TraceBuilder::kMaxTimeNs;
  if (unit.factor == 1 && element.get(whole) == simdjson::SUCCESS) {
    return std::clamp(whole, -kMax, kMax);
  }
  double value = 0;
  if (element.get(value)) return std::nullopt;
  constexpr double kMaxDouble = static_cast<double>(kMax);
  return std::llround(std::clamp(value * unit.factor, -kMaxDouble, kMaxDouble));
}

class SpeedscopeReader {
 public:
  explicit SpeedscopeReader(TraceBuilder& builder) : builder_(builder) {}

  void read(dom::object file) {
    dom::array frames;
    if (file["shared"]["frames"].get(frames) == simdjson::SUCCESS) {
      for (const dom::element frame : frames) add_frame(frame);
    }
    if (const std::string_view name = text_of(file, "name"); !name.empty()) {
      builder_.add_metadata("name", name, false);
    }
    dom::array profiles;
    if (file["profiles"].get(profiles)) return;
    for (const dom::element element : profiles) {
      dom::object profile;
      if (element.get(profile) == simdjson::SUCCESS) {
        read_profile(profile);
      } else {
        skip("a profile that is no object is skipped");
      }
    }
    if (unit_word_.empty()) return;
    builder_.add_metadata("weight_unit", unit_word_, false);
    builder_.stats().note(unit_word_ == "bytes"
                              ? "weights are bytes: where a table says ns, it is bytes"
                              : "the file does not tell what its numbers count: where a table says "
                                "ns, it is that number");
  }

 private:
  struct FrameText {
    std::string_view name;
    std::string_view file;
    int32_t line = 0;
    FrameId frame = kNoFrame;
    std::optional<LabelId> label;
  };
  struct OpenFrame {
    uint64_t frame;
    SliceRef slice;
  };

  void add_frame(dom::element element) {
    FrameText frame;
    dom::object object;
    if (element.get(object) == simdjson::SUCCESS) {
      frame.name = text_of(object, "name");
      frame.file = text_of(object, "file");
      int64_t line = 0;
      if (object["line"].get(line) == simdjson::SUCCESS && line > 0 && line <= INT32_MAX) {
        frame.line = static_cast<int32_t>(line);
      }
    } else {
      skip("a frame that is no object has no name");
    }
    frames_.push_back(frame);
  }

  void read_profile(dom::object profile) {
    const Unit unit = unit_of(text_of(profile, "unit"));
    const auto number = static_cast<int64_t>(profiles_++);
    const TrackId track = builder_.add_thread({}, {number});
    builder_.track(track).name = builder_.string(text_of(profile, "name"));
    const std::string_view type = text_of(profile, "type");
    if (type == "evented") {
      read_events(profile, track, unit);
    } else if (type == "sampled") {
      read_samples(profile, track, unit);
    } else {
      skip("a profile of unknown type is skipped");
      return;
    }
    if (!unit.word.empty()) unit_word_ = unit_word_.empty() ? unit.word : "none";
  }

  bool takes(uint64_t frame) const { return frame < frames_.size(); }

  void read_events(dom::object profile, TrackId track, const Unit& unit) {
    dom::array events;
    if (profile["events"].get(events)) return skip("a profile without events is skipped");
    std::vector<OpenFrame> open;
    std::vector<uint32_t> open_count(frames_.size(), 0);  // by frame
    std::optional<int64_t> now;
    Stats& stats = builder_.stats();
    const auto close = [&] {
      const OpenFrame& last = open.back();
      builder_.set_dur_ns(last.slice, *now - builder_.start_ns(last.slice));
      --open_count[last.frame];
      open.pop_back();
    };
    for (const dom::element element : events) {
      stats.add(Stat::kEventsRead);
      dom::object event;
      dom::element at;
      uint64_t frame = 0;
      if (element.get(event) || event["frame"].get(frame) || event["at"].get(at) || !takes(frame)) {
        skip_event("an event without a frame or a time is skipped");
        continue;
      }
      const std::optional<int64_t> at_ns = value_of(at, unit);
      const std::string_view type = text_of(event, "type");
      if (!at_ns || (type != "O" && type != "C")) {
        skip_event("an event that neither opens nor closes a frame is skipped");
        continue;
      }
      if (now && *at_ns < *now) {
        stats.add(Stat::kDurationsNegative);
        stats.note("an event is earlier than the one before it; taken as at the same time");
      }
      now = now ? std::max(*now, *at_ns) : *at_ns;
      if (type == "O") {
        // Added now and not when it ends: of two that begin and end together the outer one is
        // first.
        open.push_back({frame, builder_.add_slice(track, *now, 0, label(frame))});
        ++open_count[frame];
        continue;
      }
      if (open_count[frame] == 0) {
        stats.add(Stat::kEndsWithoutBegin);
        continue;
      }
      // Frames that a close passes over end with it.
      for (; open.back().frame != frame; close()) stats.add(Stat::kBeginsWithoutEnd);
      close();
    }
    if (open.empty()) return;
    dom::element end;
    if (profile["endValue"].get(end) == simdjson::SUCCESS) {
      now = std::max(*now, value_of(end, unit).value_or(*now));
    }
    stats.add(Stat::kBeginsWithoutEnd, open.size());
    while (!open.empty()) close();
  }

  void read_samples(dom::object profile, TrackId track, const Unit& unit) {
    dom::array samples, weights;
    if (profile["samples"].get(samples) || profile["weights"].get(weights)) {
      return skip("a profile without samples and weights is skipped");
    }
    int64_t now = 0;
    dom::element start;
    if (profile["startValue"].get(start) == simdjson::SUCCESS) {
      now = value_of(start, unit).value_or(0);
    }
    Stats& stats = builder_.stats();
    auto weight = weights.begin();
    for (const dom::element sample : samples) {
      stats.add(Stat::kEventsRead);
      const bool has_weight = weight != weights.end();
      const std::optional<int64_t> value = has_weight ? value_of(*weight, unit) : std::nullopt;
      if (has_weight) ++weight;
      dom::array frames;
      if (!value || sample.get(frames)) {
        skip_event("a sample without a stack or a weight is skipped");
        continue;
      }
      StackId stack = kNoStack;
      for (const dom::element element : frames) {
        uint64_t frame = 0;
        if (element.get(frame) || !takes(frame)) {
          stats.add(Stat::kValuesSkipped);
          stats.note("a frame that the file does not have is left out of a stack");
          continue;
        }
        stack = builder_.add_stack({stack, frame_id(frame)});
      }
      builder_.add_sample(track, now, stack, *value);
      now = std::min(now + std::max<int64_t>(0, *value), TraceBuilder::kMaxTimeNs);
    }
  }

  LabelId label(uint64_t number) {
    FrameText& frame = frames_[number];
    if (!frame.label) {
      std::string name(frame.name);
      if (!frame.file.empty()) {
        name = std::string(frame.file) + "(" + std::to_string(frame.line) + "): " + name;
      }
      frame.label = builder_.label(name, "", SliceKind::kCall);
    }
    return *frame.label;
  }

  FrameId frame_id(uint64_t number) {
    FrameText& frame = frames_[number];
    if (frame.frame == kNoFrame) {
      frame.frame = builder_.add_frame(
          {builder_.string(frame.name), builder_.string(frame.file), frame.line});
    }
    return frame.frame;
  }

  void skip(std::string_view why) {
    builder_.stats().add(Stat::kEventsRead);
    skip_event(why);
  }

  void skip_event(std::string_view why) {
    builder_.stats().add(Stat::kEventsSkipped);
    builder_.stats().note(std::string(why));
  }

  TraceBuilder& builder_;
  std::vector<FrameText> frames_;  // of the parser's memory
  uint64_t profiles_ = 0;
  std::string_view unit_word_;
};

}  // namespace

// By its outer members, as far as the head goes: "$schema" may be the last of them.
bool looks_like_speedscope(std::string_view head) {
  size_t at = skip_space(head, 0);
  if (at >= head.size() || head[at] != '{') return false;
  ++at;
  while (true) {
    at = skip_space(head, at);
    if (at < head.size() && head[at] == ',') at = skip_space(head, at + 1);
    if (at >= head.size() || head[at] != '"') return false;
    const size_t key_end = find_string_end(head, at + 1);
    if (key_end == head.npos) return false;
    const std::string_view key = head.substr(at + 1, key_end - at - 1);
    at = skip_space(head, key_end + 1);
    if (at >= head.size() || head[at] != ':') return false;
    at = skip_space(head, at + 1);
    const std::string_view value = head.substr(std::min(at, head.size()));
    if (key == "$schema") return value.find("speedscope.app/file-format") < 64;
    if (key == "exporter" && value.starts_with("\"speedscope")) return true;
    if (key == "traceEvents") return false;
    if (key == "shared") {
      const size_t inner = skip_space(value, 1);
      return value.starts_with('{') &&
             value.substr(std::min(inner, value.size())).starts_with("\"frames\"");
    }
    if (key == "profiles") {
      const std::string_view start = value.substr(0, 4096);
      return value.starts_with('[') && start.find("\"type\"") != start.npos &&
             (start.find("\"evented\"") != start.npos || start.find("\"sampled\"") != start.npos);
    }
    const size_t end = find_value_end(head, at);
    if (end == head.npos || end <= at) return false;
    at = end;
  }
}

Result<Trace> load_speedscope(ByteSource& source, const LoadOptions& options) {
  Result<std::string> text = read_whole(source, kMaxSpeedscopeBytes, "a speedscope file", options);
  if (!text) return text.status();
  dom::parser parser;
  dom::object file;
  if (const simdjson::error_code error = parser.parse(*text).get(file)) {
    return Status::error(source.name() + ": a speedscope file, but not valid JSON: " +
                         (source.truncated() ? source.fault() : simdjson::error_message(error)));
  }
  dom::array profiles;
  if (file["profiles"].get(profiles)) {
    return Status::error(source.name() + ": a speedscope file without \"profiles\"");
  }
  TraceBuilder builder;
  SpeedscopeReader(builder).read(file);
  builder.set_format("speedscope profile");
  builder.set_source(source.name());
  return std::move(builder).finish();
}

}  // namespace stepscope
