#include "ingest/xplane_plane.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/saturating.h"
#include "ingest/id_table.h"
#include "ingest/xplane_event.h"
#include "ingest/xplane_labels.h"
#include "ingest/xplane_stats.h"
#include "ingest/xplane_wire.h"

namespace stepscope::xplane {
namespace {

constexpr size_t kChunkSlices = 8192;
constexpr size_t kReleaseBytes = size_t{4} << 20;
// A track takes a hundred bytes, and a line of one event four in a file.
constexpr size_t kMaxTracks = size_t{1} << 20;
constexpr uint64_t kMaxMetadataStats = 4;
constexpr LabelId kNoLabel{UINT32_MAX};
// What is known of an event's metadata id, for lines of one role.
struct EventName {
  std::string_view message;
  bool is_resolved = false;
  bool is_plain = false;
  LineRole role = LineRole::kHost;
  uint16_t stat_count = 0;  // of the metadata itself; these are arguments of each event
  uint32_t first_stat = 0;
  StringId whole_name = kEmptyString;  // of operators
  // By what else is known of the event; made when first needed.
  LabelId label = kNoLabel;
  LabelId instant = kNoLabel;
  LabelId hlo_op = kNoLabel;
  LabelId runtime = kNoLabel;
};

struct LineHead {
  std::string_view message;
  std::string_view name;
  std::string_view display_name;
  int64_t id = 0;
  int64_t timestamp_ns = 0;
  uint64_t events = 0;

  std::string_view shown_name() const { return display_name.empty() ? name : display_name; }
};

int64_t floor_ps_to_ns(int64_t ps) {
  const int64_t ns = ps / 1000;
  return ns * 1000 > ps ? ns - 1 : ns;
}

}  // namespace

int64_t Clock::line_start_ns(int64_t timestamp_ns) const {
  if (timestamp_ns >= kFirstAbsoluteNs) return timestamp_ns - base_ns;
  return start_ns == 0 ? timestamp_ns : add_saturating(timestamp_ns, start_ns - base_ns);
}

class PlaneReader::State {
 public:
  State(TraceBuilder& builder, const Clock& clock, Damage& damage, PlaneOptions options)
      : builder_(builder),
        clock_(clock),
        damage_(damage),
        options_(std::move(options)),
        stats_(builder, damage) {}

  bool read(std::string_view message, int64_t pid) {
    const Parts parts = read_parts(message);
    add_metadata(parts.stats);
    uint64_t events = 0;
    for (const LineHead& line : parts.lines) events += line.events;
    if (events == 0) return false;
    if (events > builder_.slice_count()) builder_.reserve_slices(builder_.slice_count() + events);
    process_ = builder_.add_new_process({pid});
    builder_.process(process_).name = builder_.string(options_.prefix + name_);
    add_device(parts.stats);
    for (const LineHead& line : parts.lines) {
      if (line.events > 0) read_line(line);
    }
    return true;
  }

 private:
  struct Parts {
    std::vector<LineHead> lines;
    std::vector<std::string_view> stats;
  };

  // All of the plane but the events. Names come last in the file.
  Parts read_parts(std::string_view message) {
    Parts parts;
    stats_.begin_plane();
    event_names_ = {};
    metadata_stats_.clear();
    std::string_view name;
    for_each_field(message, damage_, [&](protozero::pbf_reader& reader) {
      switch (reader.tag_and_type()) {
        case plane::kName:
          name = take_bytes(reader);
          return true;
        case plane::kLine:
          add_line(take_message(reader, damage_), parts);
          return true;
        case plane::kEventMetadata:
          add_named(take_bytes(reader), event_names_);
          return true;
        case plane::kStatMetadata:
          add_named(take_bytes(reader), stats_.names());
          return true;
        case plane::kStat:
          parts.stats.push_back(take_bytes(reader));
          return true;
        default:
          return false;
      }
    });
    stats_.names().settle();
    event_names_.settle();
    name_ = stats_.mend(name);
    role_ = role_of_plane(name_);
    for (LineHead& line : parts.lines) {
      read_head(line);
      release(line.message);
    }
    return parts;
  }

  void add_line(std::string_view message, Parts& parts) {
    if (parts.lines.size() + builder_.tracks().size() < kMaxTracks) {
      parts.lines.push_back({message});
    } else if (!std::exchange(has_left_out_lines_, true)) {
      builder_.stats().note("more than " + std::to_string(kMaxTracks) +
                            " lines; the others are left out");
    }
  }

  // An entry of a plane's map from ids to names. The name is read when it is first needed: a plane
  // may have more of them than events.
  template <typename Named>
  void add_named(std::string_view entry, IdTable<Named>& table) {
    uint64_t id = 0;
    Named named;
    for_each_field(entry, damage_, [&](protozero::pbf_reader& reader) {
      switch (reader.tag_and_type()) {
        case map_entry::kKey:
          id = reader.get_uint64();
          return true;
        case map_entry::kValue:
          named.message = take_bytes(reader);
          return true;
        default:
          return false;
      }
    });
    table.add(id, named);
  }

  void release(std::string_view bytes) {
    if (options_.on_read) options_.on_read(bytes);
  }

  template <typename OnStat>
  void for_each_stat(const std::vector<std::string_view>& stats, OnStat&& on_stat) {
    for (const std::string_view message : stats) {
      if (damage_.is_hopeless()) return;
      try {
        StatValue value;
        decode_stat(message, value);
        if (const StatName* name = stats_.find_name(value.id)) {
          on_stat(builder_.strings().view(name->name), value);
        }
      } catch (const protozero::exception&) {
        damage_.add(message.data());
        builder_.stats().add(Stat::kValuesSkipped);
      }
    }
  }

  void add_metadata(const std::vector<std::string_view>& stats) {
    for_each_stat(stats, [&](std::string_view name, const StatValue& value) {
      const auto text = stats_.text_of(value);
      if (!text) return;
      const bool is_number = value.type == ValueType::kInt;
      builder_.add_metadata(options_.prefix + name_ + "/" + std::string(name), *text, is_number);
    });
  }

  void add_device(const std::vector<std::string_view>& stats) {
    if (!role_.is_device) return;
    Device device;
    device.id = role_.device;
    device.name = builder_.string(name_);
    for_each_stat(stats, [&](std::string_view name, const StatValue& value) {
      const auto number = static_cast<int64_t>(value.bits);
      if (name == "device_type_string") {
        device.name = builder_.string(stats_.text_of(value).value_or(name_));
      } else if (value.type != ValueType::kInt) {
        return;
      } else if (name == "memory_size") {
        device.total_memory_bytes = number;
      } else if (name == "compute_cap_major") {
        device.compute_major = number;
      } else if (name == "compute_cap_minor") {
        device.compute_minor = number;
      } else if (name == "core_count") {
        device.sm_count = number;
      }
    });
    builder_.add_device(device);
  }

  // Its name comes after its events. Counts these, so that they get their memory at once.
  void read_head(LineHead& line) {
    for_each_field(line.message, damage_, [&](protozero::pbf_reader& reader) {
      switch (reader.tag_and_type()) {
        case line::kId:
          line.id = reader.get_int64();
          return true;
        case line::kName:
          line.name = take_bytes(reader);
          return true;
        case line::kTimestampNs:
          line.timestamp_ns = reader.get_int64();
          return true;
        case line::kEvent:
          (void)take_bytes(reader);
          ++line.events;
          return true;
        case line::kDisplayName:
          line.display_name = take_bytes(reader);
          return true;
        default:
          return false;
      }
    });
  }

  void add_track(const LineHead& line) {
    line_name_ = stats_.mend(line.shown_name());
    const LinePlace place = place_of_line(role_, line_name_, line.id);
    line_role_ = place.role;
    Track track;
    track.kind = role_.is_device ? TrackKind::kStream : TrackKind::kThread;
    track.process = process_;
    track.tid = {line.id};
    track.name = builder_.string(name_of_line(line_name_));
    if (role_.is_device) {
      track.device = role_.device;
      track.stream = place.stream;
    }
    track_ = builder_.add_track(track);
  }

  void read_line(const LineHead& line) {
    builder_.stats().add(Stat::kEventsRead, line.events);
    add_track(line);
    line_start_ns_ = clock_.line_start_ns(line.timestamp_ns);
    aggregates_ = 0;
    stats_.begin_line();
    // Walked once already: what is damaged comes after line.events of these.
    Cursor cursor(line.message);
    const char* const end = line.message.data() + line.message.size();
    const char* released = line.message.data();
    for (uint64_t left = line.events; left > 0;) {
      if (!cursor.take_tag(line::kEvent)) {
        (void)cursor.take_tag();
        cursor.skip_after_tag();
        continue;
      }
      --left;
      add_event(cursor.take_bytes(), end);
      if (starts_.size() < kChunkSlices) continue;
      flush();
      stats_.reserve(line.events, line.events - left);
      if (static_cast<size_t>(cursor.place() - released) >= kReleaseBytes) {
        release({released, cursor.place()});
        released = cursor.place();
      }
    }
    flush();
    release({released, end});
    if (aggregates_ == 0) return;
    builder_.stats().add(Stat::kEventsSkipped, aggregates_);
    builder_.stats().note("the line '" + line_name_ + "' has sums of events without a time (" +
                          std::to_string(aggregates_) + "); they are left out");
  }

  // The message lies within the line, which ends at line_end.
  void add_event(std::string_view message, const char* line_end) {
    if (damage_.is_hopeless()) return builder_.stats().add(Stat::kEventsSkipped);
    Event event;
    try {
      decode_event(message, line_end, event, values_);
    } catch (const protozero::exception&) {
      damage_.add(message.data());
      return builder_.stats().add(Stat::kEventsSkipped);
    }
    if (event.is_aggregate) {
      ++aggregates_;
      return;
    }
    if (builder_.slice_count() + starts_.size() >= TraceBuilder::kMaxSlices - 1) {
      return builder_.stats().add(Stat::kEventsSkipped);
    }
    if (event.dur_ps < 0) builder_.stats().add(Stat::kDurationsNegative);
    const int64_t start_ns = add_saturating(line_start_ns_, floor_ps_to_ns(event.offset_ps));
    const int64_t end_ps =
        event.dur_ps <= 0 ? event.offset_ps : add_saturating(event.offset_ps, event.dur_ps);
    const int64_t end_ns = add_saturating(line_start_ns_, floor_ps_to_ns(end_ps));
    const int64_t dur_ns = subtract_saturating(end_ns, start_ns);
    const SliceRef slice{builder_.slice_count() + static_cast<uint32_t>(starts_.size())};
    const LabelId label = find_label(event, slice);
    if (dur_ns >= DurationColumn::kLong) {
      long_durs_.emplace_back(static_cast<uint32_t>(starts_.size()), dur_ns);
    }
    starts_.push_back(start_ns);
    durs_.push_back(static_cast<uint32_t>(std::min<int64_t>(dur_ns, DurationColumn::kLong)));
    labels_.push_back(label);
  }

  void flush() {
    builder_.add_slices(track_, starts_, durs_, long_durs_, labels_);
    starts_.clear();
    durs_.clear();
    long_durs_.clear();
    labels_.clear();
  }

  // The event's label; adds its arguments on the way.
  LabelId find_label(const Event& event, SliceRef slice) {
    int64_t step = 0;
    uint8_t roles = 0;
    for (const StatValue& value : values_) {
      const StatRole role = stats_.add(slice, value);
      if (role == kNoRole) continue;
      roles |= role;
      if (role == kStepNumber) step = static_cast<int64_t>(value.bits);
    }
    EventName* name = event_names_.find(event.metadata_id);
    if (name == nullptr) return unknown_label(event);
    if (!name->is_resolved || name->role != line_role_) resolve(event.metadata_id, *name);
    if (name->whole_name != kEmptyString) add_whole_name(slice, name->whole_name);
    for (uint32_t i = 0; i < name->stat_count; ++i) {
      roles |= stats_.add(slice, metadata_stats_[name->first_stat + i]);
    }
    if (line_role_ == LineRole::kHost) {
      if ((roles & kStepNumber) != 0) return step_label(*name, step);
      if (name->is_plain && (roles != 0 || event.dur_ps <= 0)) return plain_label(*name, roles);
    }
    return name->label;
  }

  void add_whole_name(SliceRef slice, StringId name) {
    if (!op_name_) op_name_ = builder_.arg_column("op_name", ArgType::kString);
    builder_.add_string(*op_name_, slice, name);
  }

  LabelId unknown_label(const Event& event) {
    const std::string name = "event " + std::to_string(event.metadata_id);
    const EventLabel label = label_of_event(name, "", line_role_, line_name_);
    return builder_.label(label.name, label.category, label.kind);
  }

  std::string_view text_of_label(LabelId label) const {
    return builder_.strings().view(builder_.labels()[label].name);
  }

  LabelId step_label(const EventName& name, int64_t step) {
    const std::string text = std::string(text_of_label(name.label)) + "#" + std::to_string(step);
    return builder_.label(text, "step", SliceKind::kStep);
  }

  LabelId plain_label(EventName& name, uint8_t roles) {
    LabelId& label = (roles & kHloOp) != 0         ? name.hlo_op
                     : (roles & kCorrelation) != 0 ? name.runtime
                                                   : name.instant;
    if (label != kNoLabel) return label;
    const StringId text = builder_.labels()[name.label].name;
    const auto intern_label = [&](std::string_view category, SliceKind kind) {
      return builder_.labels().intern({text, builder_.string(category), kind});
    };
    if ((roles & kHloOp) != 0) {
      label = intern_label("xla_op", SliceKind::kOperator);
    } else if ((roles & kCorrelation) != 0) {
      label = intern_label("cuda_runtime", SliceKind::kRuntime);
    } else {
      label = intern_label("", SliceKind::kInstant);
    }
    return label;
  }

  void resolve(uint64_t id, EventName& name) {
    std::string_view text, display_name;
    std::vector<std::string_view> stats;
    for_each_field(name.message, damage_, [&](protozero::pbf_reader& reader) {
      switch (reader.tag_and_type()) {
        case event_metadata::kName:
          text = take_bytes(reader);
          return true;
        case event_metadata::kDisplayName:
          display_name = take_bytes(reader);
          return true;
        case event_metadata::kStat:
          stats.push_back(take_bytes(reader));
          return true;
        default:
          return false;
      }
    });
    const std::string whole = text.empty() ? "event " + std::to_string(id) : stats_.mend(text);
    const EventLabel label =
        label_of_event(whole, stats_.mend(display_name), line_role_, line_name_);
    name = {.message = name.message, .is_resolved = true, .is_plain = label.is_plain};
    name.role = line_role_;
    name.label = builder_.label(label.name, label.category, label.kind);
    if (label.is_operator) name.whole_name = builder_.string(whole);
    if (stats.size() <= kMaxMetadataStats) add_metadata_stats(stats, name);
  }

  void add_metadata_stats(const std::vector<std::string_view>& stats, EventName& name) {
    name.first_stat = static_cast<uint32_t>(metadata_stats_.size());
    try {
      for (const std::string_view message : stats) {
        decode_stat(message, metadata_stats_.emplace_back());
        if (metadata_stats_.back().type == ValueType::kBytes) {
          metadata_stats_.resize(name.first_stat);
          return;
        }
      }
    } catch (const protozero::exception&) {
      metadata_stats_.pop_back();
      damage_.add(name.message.data());
      builder_.stats().add(Stat::kValuesSkipped);
    }
    name.stat_count = static_cast<uint16_t>(metadata_stats_.size() - name.first_stat);
  }

  TraceBuilder& builder_;
  const Clock clock_;
  Damage& damage_;
  const PlaneOptions options_;
  PlaneStats stats_;
  std::optional<ArgColumnRef> op_name_;
  bool has_left_out_lines_ = false;

  // The plane.
  std::string name_;
  PlaneRole role_;
  uint32_t process_ = 0;
  IdTable<EventName> event_names_;
  std::vector<StatValue> metadata_stats_;

  // The line.
  std::string line_name_;
  LineRole line_role_ = LineRole::kHost;
  TrackId track_{0};
  int64_t line_start_ns_ = 0;
  uint64_t aggregates_ = 0;

  // The event, and the slices that are not in the builder yet.
  std::vector<StatValue> values_;
  std::vector<int64_t> starts_;
  std::vector<uint32_t> durs_;
  std::vector<std::pair<uint32_t, int64_t>> long_durs_;
  std::vector<LabelId> labels_;
};

PlaneReader::PlaneReader(TraceBuilder& builder, const Clock& clock, Damage& damage,
                         PlaneOptions options)
    : state_(std::make_unique<State>(builder, clock, damage, std::move(options))) {}

PlaneReader::~PlaneReader() = default;

bool PlaneReader::read(std::string_view message, int64_t pid) { return state_->read(message, pid); }

}  // namespace stepscope::xplane
