// Events and their stats from the wire, the hot loop of reading a profile: no more than a switch on
// a tag of one byte and protozero's varints. All functions throw protozero's exceptions at damage.
#pragma once

#include <protozero/varint.hpp>

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "ingest/xplane_wire.h"

namespace stepscope::xplane {

enum class ValueType : uint8_t { kNone, kInt, kDouble, kText, kReference, kBytes };

struct StatValue {
  uint64_t id = 0;
  union {
    uint64_t bits = 0;  // of a number; the id of a reference
    const char* begin;  // of a text
  };
  uint32_t text_bytes = 0;
  ValueType type = ValueType::kNone;

  std::string_view text() const { return {begin, text_bytes}; }
};

struct Event {
  uint64_t metadata_id = 0;
  int64_t offset_ps = 0;
  int64_t dur_ps = 0;
  bool is_aggregate = false;
};

inline uint64_t read_varint(const char*& at, const char* end) {
  return protozero::decode_varint(&at, end);
}

inline std::string_view read_bytes(const char*& at, const char* end) {
  const uint64_t size = read_varint(at, end);
  if (size > static_cast<uint64_t>(end - at)) throw protozero::end_of_buffer_exception();
  const std::string_view bytes(at, size);
  at += size;
  return bytes;
}

// Past the field that starts at `at`.
inline const char* skip_field(const char* at, const char* end) {
  protozero::pbf_reader reader(at, static_cast<size_t>(end - at));
  if (reader.next()) reader.skip();
  return reader.data().data();
}

inline void set_text(StatValue& value, std::string_view text) {
  value.begin = text.data();
  value.text_bytes = static_cast<uint32_t>(text.size());
}

// Fields that are read have tags of one byte.
inline StatValue decode_any_stat(std::string_view message) {
  StatValue value;
  const char* at = message.data();
  const char* const end = at + message.size();
  while (at != end) {
    switch (static_cast<uint8_t>(*at++)) {
      case stat::kMetadataId:
        value.id = read_varint(at, end);
        break;
      case stat::kUint64:
      case stat::kInt64:
        value.type = ValueType::kInt;
        value.bits = read_varint(at, end);
        break;
      case stat::kReference:
        value.type = ValueType::kReference;
        value.bits = read_varint(at, end);
        break;
      case stat::kText:
        value.type = ValueType::kText;
        set_text(value, read_bytes(at, end));
        break;
      case stat::kDouble:
        if (end - at < 8) throw protozero::end_of_buffer_exception();
        value.type = ValueType::kDouble;
        std::memcpy(&value.bits, at, 8);
        at += 8;
        break;
      case stat::kBytes:
        value.type = ValueType::kBytes;
        (void)read_bytes(at, end);
        break;
      default:
        at = skip_field(at - 1, end);
    }
  }
  return value;
}

// The same; a small id and then a number, as nearly all are, are taken without a loop.
inline StatValue decode_stat(std::string_view message) {
  if (message.size() < 4 || message[0] != stat::kMetadataId || message[1] < 0) {
    return decode_any_stat(message);
  }
  const auto tag = static_cast<uint8_t>(message[2]);
  if (tag != stat::kInt64 && tag != stat::kUint64 && tag != stat::kReference) {
    return decode_any_stat(message);
  }
  StatValue value;
  value.id = static_cast<uint8_t>(message[1]);
  value.type = tag == stat::kReference ? ValueType::kReference : ValueType::kInt;
  const char* at = message.data() + 3;
  value.bits = read_varint(at, message.data() + message.size());
  return at == message.data() + message.size() ? value : decode_any_stat(message);
}

inline Event decode_event(std::string_view message, std::vector<StatValue>& stats) {
  Event event;
  stats.clear();
  const char* at = message.data();
  const char* const end = at + message.size();
  while (at != end) {
    switch (static_cast<uint8_t>(*at++)) {
      case event::kMetadataId:
        event.metadata_id = read_varint(at, end);
        break;
      case event::kOffsetPs:
        event.offset_ps = static_cast<int64_t>(read_varint(at, end));
        break;
      case event::kDurationPs:
        event.dur_ps = static_cast<int64_t>(read_varint(at, end));
        break;
      case event::kStat:
        stats.push_back(decode_stat(read_bytes(at, end)));
        break;
      case event::kOccurrences:
        (void)read_varint(at, end);
        event.is_aggregate = true;
        break;
      default:
        at = skip_field(at - 1, end);
    }
  }
  return event;
}

}  // namespace stepscope::xplane
