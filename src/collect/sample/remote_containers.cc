// The part of RemoteObjects that looks into containers: tuples, lists, sets, dicts, attributes.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "collect/sample/remote_objects.h"

namespace stepscope::sample {
namespace {

constexpr uint64_t kMaxLength = uint64_t{1} << 40;
constexpr size_t kMaxSearched = 65536;  // entries of a dict in which a name is looked for
constexpr size_t kPiece = 1024;         // entries that are read at once
constexpr size_t kMaxSetSlots = size_t{1} << 18;
constexpr size_t kMaxInterpreters = 256;
constexpr int kMaxLog2 = 40;

std::span<uint8_t> bytes_of(std::vector<uint64_t>& words) {
  return {reinterpret_cast<uint8_t*>(words.data()), words.size() * sizeof(uint64_t)};
}

}  // namespace

ItemsValue RemoteObjects::read_items(uint64_t object, size_t max_items) {
  const auto type = type_of(object);
  ItemsValue value;
  if (!type || !(type->is(kTupleType) || type->is(kListType))) return value;
  uint64_t length = 0;
  if (!read(object + kObjectLength, length) || length > kMaxLength) return value;
  const uint64_t items =
      type->is(kListType) ? read_pointer(object + kListItems) : object + kTupleItems;
  std::vector<uint64_t> words(std::min<uint64_t>(length, max_items));
  if (!words.empty() && !read(items, bytes_of(words))) return value;
  return {std::move(words), length};
}

ItemsValue RemoteObjects::read_set(uint64_t object, size_t max_items) {
  const auto type = type_of(object);
  ItemsValue value;
  if (!type || !(derives_from(*type, "set") || derives_from(*type, "frozenset"))) return value;
  std::array<uint64_t, SetOffsets::kEnd / 8> head;
  if (!read(object, head)) return value;
  value.length = head[SetOffsets::kUsed / 8];
  const uint64_t mask = head[SetOffsets::kMask / 8];
  const uint64_t table = head[SetOffsets::kTable / 8];
  if (mask > kMaxLength || value.length > mask + 1) return {};
  const uint64_t slots = std::min<uint64_t>(mask + 1, kMaxSetSlots);
  const size_t wanted = std::min<uint64_t>(value.length, max_items);
  std::vector<uint64_t> words;
  for (uint64_t first = 0; first < slots && value.items.size() < wanted; first += kPiece) {
    words.resize(2 * std::min<uint64_t>(kPiece, slots - first));
    if (!read(table + 16 * first, bytes_of(words))) break;
    for (size_t i = 0; i < words.size() && value.items.size() < wanted; i += 2) {
      // A place that was left has the hash -1, which nothing else has.
      if (words[i] != 0 && words[i + 1] != UINT64_MAX) value.items.push_back(words[i]);
    }
  }
  return value;
}

std::optional<RemoteObjects::Keys> RemoteObjects::read_keys(uint64_t keys) const {
  std::array<uint8_t, 40> head;
  if (keys % 8 != 0 || !read(keys, head)) return std::nullopt;
  const auto word_at = [&](size_t offset) {
    uint64_t word;
    std::memcpy(&word, head.data() + offset, sizeof(word));
    return word;
  };
  Keys result;
  if (layout_.has_small_keys) {
    const int log2_size = head[8];
    const int log2_index_bytes = head[9];
    const uint8_t kind = head[10];  // 0: any keys, with their hashes; 1, 2: texts
    if (log2_size > kMaxLog2 || log2_index_bytes > kMaxLog2 || kind > 2) return std::nullopt;
    result = {.entries = keys + 32 + (uint64_t{1} << log2_index_bytes),
              .count = word_at(24),
              .entry_bytes = kind == 0 ? 24u : 16u,
              .key_offset = kind == 0 ? 8u : 0u};
    if (result.count > uint64_t{1} << log2_size) return std::nullopt;
    return result;
  }
  const uint64_t size = word_at(8);
  if (size == 0 || size > uint64_t{1} << kMaxLog2 || (size & (size - 1)) != 0) return std::nullopt;
  const uint64_t index_bytes = size <= 0xff ? 1 : size <= 0xffff ? 2 : size <= 0xffffffff ? 4 : 8;
  result = {.entries = keys + 40 + size * index_bytes,
            .count = word_at(32),
            .entry_bytes = 24,
            .key_offset = 8};
  if (result.count > size) return std::nullopt;
  return result;
}

std::vector<DictValue::Entry> RemoteObjects::read_entries(const Keys& keys, uint64_t values,
                                                          uint64_t first, uint64_t count) const {
  std::vector<uint8_t> bytes(count * keys.entry_bytes);
  std::vector<uint64_t> of_instance(values != 0 ? count : 0);
  if (!read(keys.entries + first * keys.entry_bytes, bytes)) return {};
  if (values != 0 && !read(values + first * 8, bytes_of(of_instance))) return {};
  std::vector<DictValue::Entry> entries(count);
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(&entries[i], bytes.data() + i * keys.entry_bytes + keys.key_offset, 16);
    if (values != 0) entries[i].value = of_instance[i];
  }
  return entries;
}

uint64_t RemoteObjects::values_of_dict(uint64_t values) const {
  if (values == 0) return 0;
  return values + (layout_.managed_dict == ManagedDict::kInlineValues ? 8 : 0);
}

DictValue RemoteObjects::read_dict(uint64_t dict, size_t max_entries) {
  const auto type = type_of(dict);
  DictValue value;
  std::array<uint64_t, DictOffsets::kEnd / 8> head;
  if (!type || !type->is(kDictType) || !read(dict, head)) return value;
  const auto keys = read_keys(head[DictOffsets::kKeys / 8]);
  const uint64_t values = values_of_dict(head[DictOffsets::kValues / 8]);
  const uint64_t length = head[DictOffsets::kUsed / 8];
  if (!keys || length > keys->count) return value;
  value.length = length;
  const size_t wanted = std::min<uint64_t>(length, max_entries);
  const uint64_t end = std::min<uint64_t>(keys->count, kMaxSearched);
  const uint64_t step = std::min<uint64_t>(kPiece, std::max<uint64_t>(wanted, 16));
  for (uint64_t first = 0; first < end && value.entries.size() < wanted; first += step) {
    const auto entries = read_entries(*keys, values, first, std::min(step, end - first));
    if (entries.empty()) break;
    for (const DictValue::Entry& entry : entries) {
      if (entry.key == 0 || entry.value == 0 || value.entries.size() == wanted) continue;
      value.entries.push_back(entry);
    }
  }
  return value;
}

std::optional<size_t> RemoteObjects::find_key(std::span<const DictValue::Entry> entries,
                                              std::string_view name) {
  // Lengths of all keys at once; few are as long as the name.
  std::vector<uint64_t> lengths(entries.size(), UINT64_MAX);
  std::vector<ProcessMemory::Piece> pieces;
  std::vector<size_t> places;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].value == 0 || !is_address(entries[i].key)) continue;
    pieces.push_back({entries[i].key + python_.layout().unicode.length, 8,
                      reinterpret_cast<uint8_t*>(&lengths[i])});
    places.push_back(i);
  }
  // One that can not be read is left out; where many can not be, this is no dict.
  std::span<const ProcessMemory::Piece> rest(pieces);
  for (int failures = 0; !rest.empty() && failures < 16; ++failures) {
    const size_t whole = python_.memory().read_all(rest);
    rest = rest.subspan(std::min(whole + 1, rest.size()));
  }
  for (size_t i = 0; i < places.size(); ++i) {
    if (lengths[places[i]] != name.size()) continue;
    const auto text = read_text(entries[places[i]].key, name.size());
    if (text && text->utf8 == name) return places[i];
  }
  return std::nullopt;
}

uint64_t RemoteObjects::find_in_keys(uint64_t keys_address, uint64_t values,
                                     std::string_view name) {
  const auto keys = read_keys(keys_address);
  if (!keys) return 0;
  const uint64_t end = std::min<uint64_t>(keys->count, kMaxSearched);
  for (uint64_t first = 0; first < end; first += kPiece) {
    const auto entries =
        read_entries(*keys, values, first, std::min<uint64_t>(kPiece, end - first));
    if (entries.empty()) return 0;
    if (const auto place = find_key(entries, name)) return entries[*place].value;
  }
  return 0;
}

uint64_t RemoteObjects::find_in_dict(uint64_t dict, std::string_view name) {
  const auto type = type_of(dict);
  std::array<uint64_t, DictOffsets::kEnd / 8> head;
  if (!type || !type->is(kDictType) || !read(dict, head)) return 0;
  return find_in_keys(head[DictOffsets::kKeys / 8], values_of_dict(head[DictOffsets::kValues / 8]),
                      name);
}

// The dict of an object that keeps it outside of its type's size, or 0 and its values.
uint64_t RemoteObjects::dict_of_managed(uint64_t object, const ObjectType& type,
                                        uint64_t& values) const {
  const uint64_t word = read_pointer(object - 24);
  switch (layout_.managed_dict) {
    case ManagedDict::kNone:
      return 0;
    case ManagedDict::kTwoPointers:
      if (word == 0) values = read_pointer(object - 32);
      return word;
    case ManagedDict::kTaggedOne:
      if ((word & 1) == 0) return word;
      values = word + 1;
      return 0;
    case ManagedDict::kInlineValues: {
      if (word != 0 || !type.is(kTypeHasInlineValues)) return word;
      std::array<uint8_t, 4> head;  // capacity, size, is embedded, is valid
      if (type.basic_size <= 0 || type.basic_size > 1 << 20) return 0;
      const uint64_t at = object + static_cast<uint64_t>(type.basic_size);
      if (read(at, head) && head[3] == 1) values = at + 8;
      return 0;
    }
  }
  return 0;
}

uint64_t RemoteObjects::find_attribute(uint64_t object, std::string_view name) {
  const auto type = type_of(object);
  if (!type) return 0;
  if (layout_.managed_dict != ManagedDict::kNone && type->is(kTypeHasManagedDict)) {
    uint64_t values = 0;
    if (const uint64_t dict = dict_of_managed(object, *type, values)) {
      return find_in_dict(dict, name);
    }
    if (values == 0) return 0;
    return find_in_keys(read_pointer(type->address + layout_.type.cached_keys), values, name);
  }
  int64_t offset = type->dict_offset;
  if (offset < 0) {  // counted from the end of an object with items
    int64_t length = 0;
    if (!read(object + kObjectLength, length)) return 0;
    if (length < -(1 << 24) || length > 1 << 24) return 0;
    length = std::abs(length);
    if (type->item_size < 0 || type->item_size > 4096) return 0;
    if (type->basic_size < 0 || type->basic_size > 1 << 20) return 0;
    offset += (type->basic_size + length * type->item_size + 7) / 8 * 8;
  }
  if (offset <= 0 || offset > int64_t{1} << 40) return 0;
  return find_in_dict(read_pointer(object + static_cast<uint64_t>(offset)), name);
}

uint64_t RemoteObjects::find_in_module(uint64_t module, std::string_view name) {
  const auto type = type_of(module);
  if (!type || !derives_from(*type, "module")) return 0;
  return find_in_dict(read_pointer(module + kModuleDict), name);
}

uint64_t RemoteObjects::find_module(uint64_t interpreter, std::string_view name) {
  return find_in_dict(read_pointer(interpreter + python_.layout().interpreter.modules), name);
}

std::vector<uint64_t> RemoteObjects::find_interpreters() const {
  std::vector<uint64_t> found;
  const PythonLayout& layout = python_.layout();
  uint64_t interpreter = read_pointer(python_.runtime() + layout.runtime.interpreters_head);
  while (is_address(interpreter) && found.size() < kMaxInterpreters) {
    if (std::find(found.begin(), found.end(), interpreter) != found.end()) break;
    found.push_back(interpreter);
    interpreter = read_pointer(interpreter + layout.interpreter.next);
  }
  return found;
}

}  // namespace stepscope::sample
