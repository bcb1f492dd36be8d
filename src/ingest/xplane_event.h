// Events and their stats from the wire, the hot loop of reading a profile: no more than a switch on
// a tag of one byte and protozero's varints. All functions throw protozero's exceptions at damage.
#pragma once

#include <protozero/varint.hpp>

#include <bit>
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

// The 7-bit groups of eight bytes, next to each other: 56 bits.
inline uint64_t join_groups(uint64_t word) {
  word = (word & 0x007f007f007f007f) | (word & 0x7f007f007f007f00) >> 1;
  word = (word & 0x00003fff00003fff) | (word & 0x3fff00003fff0000) >> 2;
  return (word & 0x000000000fffffff) | (word & 0x0fffffff00000000) >> 4;
}

// A place in a message. The message may lie within others: what is around it, up to readable_end,
// may be looked at. Small, and passed to nothing by address, so that it stays in registers.
class Cursor {
 public:
  explicit Cursor(std::string_view message) : Cursor(message, message.data() + message.size()) {}
  Cursor(std::string_view message, const char* readable_end)
      : at_(message.data()), end_(message.data() + message.size()), readable_end_(readable_end) {}

  bool is_at_end() const { return at_ == end_; }
  uint8_t take_tag() { return static_cast<uint8_t>(*at_++); }
  bool take_tag(uint32_t tag) {
    if (at_ == end_ || static_cast<uint8_t>(*at_) != tag) return false;
    ++at_;
    return true;
  }
  [[gnu::always_inline]] uint64_t take_varint() {
    if (at_ != end_ && *at_ >= 0) return static_cast<uint8_t>(*at_++);
    const auto [at, value] = decode_varint(at_, end_, readable_end_);
    at_ = at;
    return value;
  }
  uint64_t take_fixed64() {
    uint64_t value = 0;
    if (end_ - at_ < 8) throw protozero::end_of_buffer_exception();
    std::memcpy(&value, at_, 8);
    at_ += 8;
    return value;
  }
  [[gnu::always_inline]] std::string_view take_bytes() {
    const uint64_t size = take_varint();
    if (size > static_cast<uint64_t>(end_ - at_)) throw protozero::end_of_buffer_exception();
    const std::string_view bytes(at_, size);
    at_ += size;
    return bytes;
  }
  // Past the field whose tag was just taken.
  void skip_after_tag() {
    protozero::pbf_reader reader(at_ - 1, static_cast<size_t>(end_ - at_) + 1);
    if (reader.next()) reader.skip();
    at_ = reader.data().data();
  }
  const char* place() const { return at_; }

 private:
  struct Varint {
    const char* after;
    uint64_t value;
  };

  // As protozero's, which goes byte by byte: lengths vary, and branches on them can not be
  // foreseen. Here a length is a count of bits in a word.
  [[gnu::noinline]] static Varint decode_varint(const char* at, const char* end,
                                                const char* readable_end) {
    static_assert(std::endian::native == std::endian::little);
    if (readable_end - at < protozero::max_varint_length) {
      const uint64_t value = protozero::decode_varint(&at, end);
      return {at, value};
    }
    uint64_t word = 0;
    std::memcpy(&word, at, 8);
    const uint64_t last_bytes = ~word & 0x8080808080808080;
    uint64_t value = 0;
    if (last_bytes != 0) {
      const int bits = std::countr_zero(last_bytes) + 1;
      at += bits / 8;
      value = join_groups(word & UINT64_MAX >> (64 - bits));
    } else {
      const auto ninth = static_cast<uint8_t>(at[8]);
      const auto tenth = static_cast<uint8_t>(at[9]);
      const bool is_longer = ninth >= 0x80;
      if (is_longer && tenth >= 0x80) throw protozero::varint_too_long_exception();
      value = join_groups(word) | uint64_t{ninth & 0x7fu} << 56;
      if (is_longer) value |= uint64_t{tenth} << 63;
      at += is_longer ? 10 : 9;
    }
    if (at > end) throw protozero::end_of_buffer_exception();
    return {at, value};
  }

  const char* at_;
  const char* end_;
  const char* readable_end_;
};

inline void set_text(StatValue& value, std::string_view text) {
  value.begin = text.data();
  value.text_bytes = static_cast<uint32_t>(text.size());
}

// Fields that are read have tags of one byte.
[[gnu::noinline]] inline void decode_any_stat(std::string_view message, StatValue& value) {
  value = {};
  Cursor cursor(message);
  while (!cursor.is_at_end()) {
    switch (cursor.take_tag()) {
      case stat::kMetadataId:
        value.id = cursor.take_varint();
        break;
      case stat::kUint64:
      case stat::kInt64:
        value.type = ValueType::kInt;
        value.bits = cursor.take_varint();
        break;
      case stat::kReference:
        value.type = ValueType::kReference;
        value.bits = cursor.take_varint();
        break;
      case stat::kText:
        value.type = ValueType::kText;
        set_text(value, cursor.take_bytes());
        break;
      case stat::kDouble:
        value.type = ValueType::kDouble;
        value.bits = cursor.take_fixed64();
        break;
      case stat::kBytes:
        value.type = ValueType::kBytes;
        (void)cursor.take_bytes();
        break;
      default:
        cursor.skip_after_tag();
    }
  }
}

// The same; an id and then a number, as nearly all are, are taken without a loop. Written where it
// is to be: a copy of what was just written in parts would wait for these.
inline void decode_stat(std::string_view message, const char* readable_end, StatValue& value) {
  Cursor cursor(message, readable_end);
  if (cursor.take_tag(stat::kMetadataId)) {
    value.id = cursor.take_varint();
    const bool is_reference = cursor.take_tag(stat::kReference);
    if (is_reference || cursor.take_tag(stat::kInt64) || cursor.take_tag(stat::kUint64)) {
      value.type = is_reference ? ValueType::kReference : ValueType::kInt;
      value.bits = cursor.take_varint();
      if (cursor.is_at_end()) return;
    }
  }
  decode_any_stat(message, value);
}

inline void decode_stat(std::string_view message, StatValue& value) {
  decode_any_stat(message, value);
}

// The message lies within memory that ends at readable_end. Both are replaced.
inline void decode_event(std::string_view message, const char* readable_end, Event& event,
                         std::vector<StatValue>& stats) {
  event = {};
  stats.clear();
  Cursor cursor(message, readable_end);
  // First as profilers write them, which branches can be foreseen for; then in any order.
  if (cursor.take_tag(event::kMetadataId)) event.metadata_id = cursor.take_varint();
  if (cursor.take_tag(event::kOffsetPs)) {
    event.offset_ps = static_cast<int64_t>(cursor.take_varint());
  }
  if (cursor.take_tag(event::kDurationPs)) {
    event.dur_ps = static_cast<int64_t>(cursor.take_varint());
  }
  while (cursor.take_tag(event::kStat)) {
    decode_stat(cursor.take_bytes(), readable_end, stats.emplace_back());
  }
  while (!cursor.is_at_end()) {
    switch (cursor.take_tag()) {
      case event::kMetadataId:
        event.metadata_id = cursor.take_varint();
        break;
      case event::kOffsetPs:
        event.offset_ps = static_cast<int64_t>(cursor.take_varint());
        break;
      case event::kDurationPs:
        event.dur_ps = static_cast<int64_t>(cursor.take_varint());
        break;
      case event::kStat:
        decode_any_stat(cursor.take_bytes(), stats.emplace_back());
        break;
      case event::kOccurrences:
        (void)cursor.take_varint();
        event.is_aggregate = true;
        break;
      default:
        cursor.skip_after_tag();
    }
  }
}

}  // namespace stepscope::xplane
