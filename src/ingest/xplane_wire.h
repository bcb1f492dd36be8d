// The fields of XPlane's messages (xplane.proto) that are read, each as protozero's tag and wire
// type in one number, so that a field of the wrong type is an unknown one. And how to go on in a
// message that the end of the file cuts.
#pragma once

#include <protozero/pbf_reader.hpp>

#include <cstdint>
#include <string_view>

namespace stepscope::xplane {

constexpr uint32_t varint_field(uint32_t number) {
  return protozero::tag_and_type(number, protozero::pbf_wire_type::varint);
}
constexpr uint32_t fixed64_field(uint32_t number) {
  return protozero::tag_and_type(number, protozero::pbf_wire_type::fixed64);
}
constexpr uint32_t bytes_field(uint32_t number) {
  return protozero::tag_and_type(number, protozero::pbf_wire_type::length_delimited);
}

namespace space {
enum : uint32_t {
  kPlane = bytes_field(1),
  kError = bytes_field(2),
  kWarning = bytes_field(3),
  kHostName = bytes_field(4),
};
}
namespace plane {
enum : uint32_t {
  kId = varint_field(1),
  kName = bytes_field(2),
  kLine = bytes_field(3),
  kEventMetadata = bytes_field(4),
  kStatMetadata = bytes_field(5),
  kStat = bytes_field(6),
};
}
namespace map_entry {
enum : uint32_t { kKey = varint_field(1), kValue = bytes_field(2) };
}
namespace event_metadata {
enum : uint32_t {
  kId = varint_field(1),
  kName = bytes_field(2),
  kDisplayName = bytes_field(4),
  kStat = bytes_field(5),
};
}
namespace stat_metadata {
enum : uint32_t { kId = varint_field(1), kName = bytes_field(2) };
}
namespace line {
enum : uint32_t {
  kId = varint_field(1),
  kName = bytes_field(2),
  kTimestampNs = varint_field(3),
  kEvent = bytes_field(4),
  kDisplayName = bytes_field(11),
};
}
namespace event {
enum : uint32_t {
  kMetadataId = varint_field(1),
  kOffsetPs = varint_field(2),
  kDurationPs = varint_field(3),
  kStat = bytes_field(4),
  kOccurrences = varint_field(5),
};
}
namespace stat {
enum : uint32_t {
  kMetadataId = varint_field(1),
  kDouble = fixed64_field(2),
  kUint64 = varint_field(3),
  kInt64 = varint_field(4),
  kText = bytes_field(5),
  kBytes = bytes_field(6),
  kReference = varint_field(7),
};
}

inline std::string_view take_bytes(protozero::pbf_reader& reader) {
  const protozero::data_view view = reader.get_view();
  return {view.data(), view.size()};
}

// What could not be read of a file. Each damaged message costs an exception, and a file of nothing
// else would take minutes: after so many the rest is not looked into.
struct Damage {
  static constexpr uint64_t kMaxMessages = 100'000;

  uint64_t messages = 0;
  uint64_t bytes = 0;
  const char* first = nullptr;

  bool is_hopeless() const { return messages >= kMaxMessages; }
  void add(const char* at) {
    ++messages;
    if (first == nullptr || at < first) first = at;
  }
  void add(const char* at, size_t lost_bytes) {
    add(at);
    bytes += lost_bytes == 0 ? 1 : lost_bytes;
  }
};

// A message within a message: what there is of it, where it claims more than that.
inline std::string_view take_message(protozero::pbf_reader& reader, Damage& damage) {
  try {
    return take_bytes(reader);
  } catch (const protozero::end_of_buffer_exception&) {
    const protozero::data_view rest = reader.data();
    damage.add(rest.data() + rest.size(), 0);
    reader = protozero::pbf_reader();
    return {rest.data(), rest.size()};
  }
}

// Calls on_field(reader) for each field of the message; it returns false for a field that it did
// not take. Stops at damage, which is counted.
template <typename OnField>
void for_each_field(std::string_view message, Damage& damage, OnField&& on_field) {
  protozero::pbf_reader reader(message.data(), message.size());
  const char* field = message.data();
  if (damage.is_hopeless()) return;
  try {
    while (reader.next()) {
      if (!on_field(reader)) reader.skip();
      field = reader.data().data();
    }
  } catch (const protozero::exception&) {
    damage.add(field, static_cast<size_t>(message.data() + message.size() - field));
  }
}

}  // namespace stepscope::xplane
