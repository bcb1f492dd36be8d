#include "collect/sample/remote_objects.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "collect/sample/value_at.h"

namespace stepscope::sample {
namespace {

constexpr size_t kMaxTypeName = 200;
constexpr size_t kMaxKnownTypes = 4096;
constexpr size_t kMaxBases = 64;
constexpr uint64_t kMaxDigits = uint64_t{1} << 40;
constexpr uint64_t kMaxDecimalDigits = 16;  // of 30 bits: 144 decimal ones
constexpr uint32_t kDigitBits = 30;

bool is_name_character(char c) {
  const auto byte = static_cast<uint8_t>(c);
  return byte > ' ' && byte != 0x7f;
}

// A C string of a length that is not known: up to a page's end, then from there on.
std::string read_c_string(const RemoteObjects& objects, uint64_t address, size_t max_bytes) {
  std::string text;
  std::array<uint8_t, 64> piece;
  while (text.size() < max_bytes) {
    const uint64_t at = address + text.size();
    const size_t bytes = std::min<uint64_t>(piece.size(), 4096 - at % 4096);
    if (!objects.read(at, std::span(piece).first(bytes))) return {};
    uint8_t* const end = std::find(piece.data(), piece.data() + bytes, uint8_t{0});
    text.append(piece.data(), end);
    if (end != piece.data() + bytes) return text;
  }
  return {};
}

void append_utf8(std::string& text, uint32_t character) {
  if (character > 0x10ffff || (character >= 0xd800 && character < 0xe000)) character = 0xfffd;
  const auto add = [&](uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (character < 0x80) {
    add(character);
  } else if (character < 0x800) {
    add(0xc0 | character >> 6);
    add(0x80 | (character & 0x3f));
  } else if (character < 0x10000) {
    add(0xe0 | character >> 12);
    add(0x80 | (character >> 6 & 0x3f));
    add(0x80 | (character & 0x3f));
  } else {
    add(0xf0 | character >> 18);
    add(0x80 | (character >> 12 & 0x3f));
    add(0x80 | (character >> 6 & 0x3f));
    add(0x80 | (character & 0x3f));
  }
}

std::string to_utf8(std::span<const uint8_t> bytes, uint32_t character_bytes) {
  std::string text;
  for (size_t i = 0; i + character_bytes <= bytes.size(); i += character_bytes) {
    uint32_t character = 0;
    std::memcpy(&character, bytes.data() + i, character_bytes);
    append_utf8(text, character);
  }
  return text;
}

// By repeated division: for a few digits only.
std::string to_decimal(std::vector<uint32_t> digits) {
  constexpr uint32_t kChunk = 1'000'000'000;
  std::string text;
  while (!digits.empty()) {
    uint64_t rest = 0;
    for (size_t i = digits.size(); i-- > 0;) {
      rest = rest << kDigitBits | digits[i];
      digits[i] = static_cast<uint32_t>(rest / kChunk);
      rest %= kChunk;
    }
    while (!digits.empty() && digits.back() == 0) digits.pop_back();
    for (int i = 0; i < 9 && (rest != 0 || !digits.empty()); ++i, rest /= 10) {
      text.push_back(static_cast<char>('0' + rest % 10));
    }
  }
  std::reverse(text.begin(), text.end());
  return text.empty() ? "0" : text;
}

}  // namespace

RemoteObjects::RemoteObjects(const PythonProcess& python)
    : python_(python), layout_(object_layout(python.layout().version)) {}

uint64_t RemoteObjects::read_pointer(uint64_t address) const {
  uint64_t value = 0;
  return read(address, value) ? value : 0;
}

std::optional<ObjectType> RemoteObjects::type_of(uint64_t object) {
  if (object % 8 != 0) return std::nullopt;
  return read_type(read_pointer(object + kObjectType));
}

std::optional<ObjectType> RemoteObjects::read_type(uint64_t address) {
  if (address % 8 != 0) return std::nullopt;
  if (const auto known = types_.find(address); known != types_.end()) return known->second;
  std::array<uint8_t, TypeOffsets::kEnd> bytes;
  if (!read(address, bytes)) return std::nullopt;
  // A type's type is a type, too.
  uint64_t meta_flags = 0;
  const auto meta = value_at<uint64_t>(bytes, kObjectType);
  if (meta % 8 != 0 || !read(meta + TypeOffsets::kFlags, meta_flags)) return std::nullopt;
  if ((meta_flags & kTypeType) == 0) return std::nullopt;
  ObjectType type{
      .address = address,
      .name = read_c_string(*this, value_at<uint64_t>(bytes, TypeOffsets::kName), kMaxTypeName),
      .flags = value_at<uint64_t>(bytes, TypeOffsets::kFlags),
      .base = value_at<uint64_t>(bytes, TypeOffsets::kBase),
      .dict = value_at<uint64_t>(bytes, TypeOffsets::kDict),
      .basic_size = value_at<int64_t>(bytes, TypeOffsets::kBasicSize),
      .item_size = value_at<int64_t>(bytes, TypeOffsets::kItemSize),
      .dict_offset = value_at<int64_t>(bytes, TypeOffsets::kDictOffset)};
  if (type.name.empty() || !std::all_of(type.name.begin(), type.name.end(), is_name_character)) {
    return std::nullopt;
  }
  if (!type.is(kTypeIsOnHeap) && types_.size() < kMaxKnownTypes) types_.emplace(address, type);
  return type;
}

std::string RemoteObjects::full_name(const ObjectType& type) {
  if (!type.is(kTypeIsOnHeap) || type.name.find('.') != std::string::npos) return type.name;
  const auto name =
      read_text(read_pointer(type.address + layout_.type.qualified_name), kMaxTypeName);
  const auto module = read_text(find_in_dict(type.dict, "__module__"), kMaxTypeName);
  const std::string own = name && !name->utf8.empty() ? name->utf8 : type.name;
  if (!module || module->utf8.empty() || module->utf8 == "builtins") return own;
  return module->utf8 + "." + own;
}

bool RemoteObjects::derives_from(const ObjectType& type, std::string_view name) {
  if (type.name == name) return true;
  uint64_t base = type.base;
  for (size_t i = 0; i < kMaxBases && base != 0; ++i) {
    const auto above = read_type(base);
    if (!above) return false;
    if (above->name == name) return true;
    base = above->base;
  }
  return false;
}

std::optional<TextValue> RemoteObjects::read_text(uint64_t object, size_t max_characters) {
  const auto type = type_of(object);
  if (!type || !type->is(kTextType)) return std::nullopt;
  const auto& unicode = python_.layout().unicode;
  uint64_t length = 0;
  uint32_t state = 0;
  if (!read(object + unicode.length, length) || !read(object + unicode.state, state)) {
    return std::nullopt;
  }
  const uint32_t character_bytes = state >> 2 & 7;
  const bool is_compact = (state >> 5 & 1) != 0;
  const bool is_ascii = (state >> 6 & 1) != 0;
  if (character_bytes != 1 && character_bytes != 2 && character_bytes != 4) return std::nullopt;
  if (length >= uint64_t{1} << 48) return std::nullopt;
  uint64_t data = object + (is_ascii ? unicode.ascii_size : unicode.compact_size);
  if (!is_compact) data = read_pointer(object + unicode.compact_size);
  const uint64_t shown = std::min<uint64_t>(length, max_characters);
  std::vector<uint8_t> bytes(shown * character_bytes);
  if (shown > 0 && !read(data, bytes)) return std::nullopt;
  return TextValue{to_utf8(bytes, character_bytes), length, shown < length};
}

std::optional<TextValue> RemoteObjects::read_bytes(uint64_t object, size_t max_bytes) {
  const auto type = type_of(object);
  if (!type || !type->is(kBytesType)) return std::nullopt;
  uint64_t length = 0;
  if (!read(object + kObjectLength, length) || length >= uint64_t{1} << 48) return std::nullopt;
  std::vector<uint8_t> bytes(std::min<uint64_t>(length, max_bytes));
  if (!bytes.empty() && !read(object + kBytesData, bytes)) return std::nullopt;
  return TextValue{{bytes.begin(), bytes.end()}, length, bytes.size() < length};
}

std::optional<IntValue> RemoteObjects::read_int(uint64_t object) {
  const auto type = type_of(object);
  int64_t word = 0;
  if (!type || !type->is(kIntType) || !read(object + kObjectLength, word)) return std::nullopt;
  IntValue value;
  uint64_t count = 0;
  if (layout_.has_tagged_int) {
    const auto tag = static_cast<uint64_t>(word);
    count = tag >> 3;
    value.is_negative = (tag & 3) == 2;
    if ((tag & 3) == 3) return std::nullopt;
    if ((tag & 3) == 1) count = 0;  // zero has a digit, too
  } else {
    value.is_negative = word < 0;
    count = value.is_negative ? -static_cast<uint64_t>(word) : static_cast<uint64_t>(word);
  }
  if (count > kMaxDigits) return std::nullopt;
  if (count == 0) {
    value.text = "0";
    return value;
  }
  uint32_t last = 0;
  if (!read(object + kDigits + (count - 1) * 4, last) || last == 0 || last >> kDigitBits != 0) {
    return std::nullopt;
  }
  value.bits = (count - 1) * kDigitBits + static_cast<uint64_t>(std::bit_width(last));
  if (count > kMaxDecimalDigits) return value;
  std::vector<uint32_t> digits(count);
  if (!read(object + kDigits,
            std::span(reinterpret_cast<uint8_t*>(digits.data()), count * sizeof(uint32_t)))) {
    return std::nullopt;
  }
  for (uint32_t& digit : digits) digit &= (1u << kDigitBits) - 1;
  value.text = to_decimal(std::move(digits));
  if (value.is_negative) value.text.insert(0, 1, '-');
  return value;
}

std::optional<uint64_t> RemoteObjects::read_unsigned(uint64_t object) {
  const auto value = read_int(object);
  if (!value || value->is_negative || value->bits > 64) return std::nullopt;
  uint64_t number = 0;
  for (const char c : value->text) number = number * 10 + static_cast<uint64_t>(c - '0');
  return number;
}

std::optional<double> RemoteObjects::read_float(uint64_t object) {
  const auto type = type_of(object);
  double value = 0;
  if (!type || !derives_from(*type, "float")) return std::nullopt;
  if (!read(object + kFloatValue, value)) return std::nullopt;
  return value;
}

}  // namespace stepscope::sample
