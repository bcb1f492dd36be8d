// XPlane profiles made by hand, byte by byte as xplane.proto has them, for the tests of what reads
// them:
//
//   PlaneForTests host("/host:CPU");
//   LineForTests& line = host.line(7, "python");
//   line.event("train", 1000, 5000).stat("step_num", int64_t{3});     // times in ps
//   std::string bytes = SpaceForTests().add(host).host_name("vm").bytes();
//
// Names get ids in order of their first use, stats and events apart. Lines come before the names,
// as the profilers write them, unless names_first().
#pragma once

#include <protozero/pbf_writer.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stepscope {

class PlaneForTests;

// A stat's value that is the name of another stat's metadata.
struct Reference {
  std::string_view text;
};
struct Bytes {
  std::string_view text;
};

class StatsForTests {
 public:
  explicit StatsForTests(PlaneForTests& plane) : plane_(&plane) {}
  std::string encode(std::string_view name, int64_t value);
  std::string encode(std::string_view name, uint64_t value);
  std::string encode(std::string_view name, double value);
  std::string encode(std::string_view name, std::string_view value);
  std::string encode(std::string_view name, Bytes value);
  std::string encode(std::string_view name, Reference value);

 private:
  PlaneForTests* plane_;
};

class EventForTests {
 public:
  EventForTests(PlaneForTests& plane, uint64_t metadata_id, int64_t offset_ps, int64_t dur_ps)
      : plane_(&plane) {
    protozero::pbf_writer writer(bytes_);
    writer.add_uint64(1, metadata_id);
    writer.add_int64(2, offset_ps);
    writer.add_int64(3, dur_ps);
  }
  template <typename Value>
  EventForTests& stat(std::string_view name, Value value) {
    protozero::pbf_writer(bytes_).add_message(4, StatsForTests(*plane_).encode(name, value));
    return *this;
  }
  // A field as it is: for what no profiler writes.
  EventForTests& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  PlaneForTests* plane_;
  std::string bytes_;
};

class LineForTests {
 public:
  LineForTests(PlaneForTests& plane, uint64_t id, std::string_view name, int64_t timestamp_ns)
      : plane_(&plane), id_(id), name_(name), timestamp_ns_(timestamp_ns) {}

  EventForTests& event(std::string_view name, int64_t offset_ps, int64_t dur_ps);
  EventForTests& event_of_id(uint64_t metadata_id, int64_t offset_ps, int64_t dur_ps) {
    return events_.emplace_back(*plane_, metadata_id, offset_ps, dur_ps);
  }
  // A sum of events, which has no time.
  void aggregate(std::string_view name, int64_t occurrences, int64_t dur_ps);
  LineForTests& display_name(std::string_view name) {
    display_name_ = name;
    return *this;
  }

  std::string bytes() const {
    std::string bytes;
    protozero::pbf_writer writer(bytes);
    writer.add_uint64(1, id_);
    writer.add_string(2, name_);
    if (timestamp_ns_ != 0) writer.add_int64(3, timestamp_ns_);
    for (const EventForTests& event : events_) writer.add_message(4, event.bytes());
    for (const std::string& event : aggregates_) writer.add_message(4, event);
    if (!display_name_.empty()) writer.add_string(11, display_name_);
    return bytes;
  }

 private:
  PlaneForTests* plane_;
  uint64_t id_;
  std::string name_;
  int64_t timestamp_ns_;
  std::string display_name_;
  std::deque<EventForTests> events_;
  std::vector<std::string> aggregates_;
};

class PlaneForTests {
 public:
  explicit PlaneForTests(std::string_view name) : name_(name) {}
  PlaneForTests(const PlaneForTests&) = delete;

  LineForTests& line(uint64_t id, std::string_view name, int64_t timestamp_ns = 0) {
    return lines_.emplace_back(*this, id, name, timestamp_ns);
  }
  template <typename Value>
  PlaneForTests& stat(std::string_view name, Value value) {
    stats_.push_back(StatsForTests(*this).encode(name, value));
    return *this;
  }
  // What an event's metadata says besides its name.
  PlaneForTests& display_name(std::string_view event, std::string_view display_name) {
    event_names_[place_of(event_id(event))].display_name = display_name;
    return *this;
  }
  template <typename Value>
  PlaneForTests& metadata_stat(std::string_view event, std::string_view name, Value value) {
    const size_t place = place_of(event_id(event));
    event_names_[place].stats.push_back(StatsForTests(*this).encode(name, value));
    return *this;
  }
  PlaneForTests& names_first() {
    names_first_ = true;
    return *this;
  }
  // Gives the next name that is met this id, and later ones those after it.
  PlaneForTests& next_event_id(uint64_t id) {
    next_event_id_ = id;
    return *this;
  }

  uint64_t event_id(std::string_view name) {
    for (const EventName& known : event_names_) {
      if (known.name == name) return known.id;
    }
    event_names_.push_back({next_event_id_, std::string(name), "", {}});
    return next_event_id_++;
  }
  uint64_t stat_id(std::string_view name) {
    return stat_ids_.try_emplace(std::string(name), stat_ids_.size() + 1).first->second;
  }

  std::string bytes() const {
    std::string bytes;
    protozero::pbf_writer writer(bytes);
    writer.add_string(2, name_);
    if (names_first_) add_names(writer);
    for (const LineForTests& line : lines_) writer.add_message(3, line.bytes());
    if (!names_first_) add_names(writer);
    for (const std::string& stat : stats_) writer.add_message(6, stat);
    return bytes;
  }

 private:
  struct EventName {
    uint64_t id;
    std::string name;
    std::string display_name;
    std::vector<std::string> stats;
  };

  size_t place_of(uint64_t id) const {
    size_t place = 0;
    while (event_names_[place].id != id) ++place;
    return place;
  }

  static std::string map_entry(uint64_t id, const std::string& value) {
    std::string entry;
    protozero::pbf_writer writer(entry);
    writer.add_uint64(1, id);
    writer.add_message(2, value);
    return entry;
  }

  void add_names(protozero::pbf_writer& plane) const {
    for (const EventName& event : event_names_) {
      std::string value;
      protozero::pbf_writer writer(value);
      writer.add_uint64(1, event.id);
      writer.add_string(2, event.name);
      if (!event.display_name.empty()) writer.add_string(4, event.display_name);
      for (const std::string& stat : event.stats) writer.add_message(5, stat);
      plane.add_message(4, map_entry(event.id, value));
    }
    for (const auto& [name, id] : stat_ids_) {
      std::string value;
      protozero::pbf_writer writer(value);
      writer.add_uint64(1, id);
      writer.add_string(2, name);
      plane.add_message(5, map_entry(id, value));
    }
  }

  std::string name_;
  bool names_first_ = false;
  uint64_t next_event_id_ = 1;
  std::deque<LineForTests> lines_;
  std::vector<std::string> stats_;
  std::vector<EventName> event_names_;
  std::map<std::string, uint64_t> stat_ids_;
};

class SpaceForTests {
 public:
  SpaceForTests& add(const PlaneForTests& plane) {
    protozero::pbf_writer(bytes_).add_message(1, plane.bytes());
    return *this;
  }
  // The plane that tells when the profile was taken.
  SpaceForTests& started_at(int64_t ns_since_1970) {
    PlaneForTests plane("Task Environment");
    plane.stat("profile_start_time", static_cast<uint64_t>(ns_since_1970));
    return add(plane);
  }
  SpaceForTests& warning(std::string_view text) {
    protozero::pbf_writer(bytes_).add_string(3, std::string(text));
    return *this;
  }
  SpaceForTests& host_name(std::string_view name) {
    protozero::pbf_writer(bytes_).add_string(4, std::string(name));
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

inline EventForTests& LineForTests::event(std::string_view name, int64_t offset_ps,
                                          int64_t dur_ps) {
  return event_of_id(plane_->event_id(name), offset_ps, dur_ps);
}

inline void LineForTests::aggregate(std::string_view name, int64_t occurrences, int64_t dur_ps) {
  std::string event;
  protozero::pbf_writer writer(event);
  writer.add_uint64(1, plane_->event_id(name));
  writer.add_int64(5, occurrences);
  writer.add_int64(3, dur_ps);
  aggregates_.push_back(event);
}

inline std::string StatsForTests::encode(std::string_view name, int64_t value) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_uint64(1, plane_->stat_id(name));
  writer.add_int64(4, value);
  return bytes;
}
inline std::string StatsForTests::encode(std::string_view name, uint64_t value) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_uint64(1, plane_->stat_id(name));
  writer.add_uint64(3, value);
  return bytes;
}
inline std::string StatsForTests::encode(std::string_view name, double value) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_uint64(1, plane_->stat_id(name));
  writer.add_double(2, value);
  return bytes;
}
inline std::string StatsForTests::encode(std::string_view name, std::string_view value) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_uint64(1, plane_->stat_id(name));
  writer.add_string(5, value.data(), value.size());
  return bytes;
}
inline std::string StatsForTests::encode(std::string_view name, Bytes value) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_uint64(1, plane_->stat_id(name));
  writer.add_bytes(6, value.text.data(), value.text.size());
  return bytes;
}
inline std::string StatsForTests::encode(std::string_view name, Reference value) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_uint64(1, plane_->stat_id(name));
  writer.add_uint64(7, plane_->stat_id(value.text));
  return bytes;
}

}  // namespace stepscope
