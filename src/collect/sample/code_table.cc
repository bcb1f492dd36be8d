#include "collect/sample/code_table.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <utility>

#include "collect/sample/value_at.h"

namespace stepscope::sample {
namespace {

constexpr uint64_t kMaxNameBytes = 4096;
constexpr uint64_t kMaxTableBytes = uint64_t{1} << 20;
constexpr uint32_t kTypeOffset = 8;
constexpr uint32_t kSizeOffset = 16;     // of a bytes object
constexpr uint32_t kContentOffset = 32;  // of a bytes object
constexpr uint32_t kMaxFrameSlots = 1 << 16;

void append_utf8(std::string& text, uint32_t c) {
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += static_cast<char>(0xc0 | c >> 6);
    text += static_cast<char>(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    text += static_cast<char>(0xe0 | c >> 12);
    text += static_cast<char>(0x80 | (c >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (c & 0x3f));
  } else {
    text += static_cast<char>(0xf0 | (c >> 18 & 7));
    text += static_cast<char>(0x80 | (c >> 12 & 0x3f));
    text += static_cast<char>(0x80 | (c >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (c & 0x3f));
  }
}

uint32_t character_at(const uint8_t* bytes, uint64_t i, uint32_t kind) {
  if (kind == 1) return bytes[i];
  if (kind == 2) return value_at<uint16_t>(bytes, static_cast<uint32_t>(2 * i));
  return value_at<uint32_t>(bytes, static_cast<uint32_t>(4 * i));
}

bool is_character(uint32_t c) { return c < 0xd800 || (c > 0xdfff && c < 0x110000); }

}  // namespace

void CodeTable::check(std::span<const uint64_t> addresses) {
  ++checks_;
  collect(addresses);
  read_objects();
  const uint32_t size = python_.layout().code.size;
  for (size_t i = 0; i < wanted_.size(); ++i) {
    Entry& entry = entries_[wanted_[i]];
    const uint8_t* object = objects_.data() + i * size;
    if (!is_read_[i]) {
      entry.code = kNoCode;
    } else if (entry.code == kNoCode || mark_of(object, hashes_[i]) != entry.mark) {
      read_new(entry, object);
    }
  }
}

// Each address once.
void CodeTable::collect(std::span<const uint64_t> addresses) {
  wanted_.clear();
  for (const uint64_t address : addresses) {
    const auto [place, is_new] =
        entry_by_address_.try_emplace(address, static_cast<uint32_t>(entries_.size()));
    if (is_new) entries_.emplace_back().address = address;
    Entry& entry = entries_[place];
    if (entry.checked_at == checks_) continue;
    entry.checked_at = checks_;
    wanted_.push_back(place);
  }
}

// The objects, and of known ones the hash of the name that they had: names come and go with them.
void CodeTable::read_objects() {
  const PythonLayout& layout = python_.layout();
  const uint32_t size = layout.code.size;
  objects_.resize(wanted_.size() * size);
  hashes_.assign(wanted_.size(), 0);
  is_read_.assign(wanted_.size(), true);
  pieces_.clear();
  for (size_t i = 0; i < wanted_.size(); ++i) {
    const Entry& entry = entries_[wanted_[i]];
    pieces_.push_back({entry.address, size, objects_.data() + i * size});
    const bool is_known = entry.code != kNoCode;
    const uint64_t hash = is_known ? entry.mark.name + layout.unicode.hash : entry.address;
    pieces_.push_back({hash, sizeof(uint64_t), reinterpret_cast<uint8_t*>(&hashes_[i])});
  }
  for (size_t done = 0; done < pieces_.size();) {
    done += python_.memory().read_all(std::span(pieces_).subspan(done));
    if (done == pieces_.size()) break;
    is_read_[done / 2] = false;
    done = (done / 2 + 1) * 2;
  }
}

CodeTable::Mark CodeTable::mark_of(const uint8_t* object, uint64_t name_hash) const {
  const auto& code = python_.layout().code;
  return {.type = value_at<uint64_t>(object, kTypeOffset),
          .name = value_at<uint64_t>(object, code.name),
          .file = value_at<uint64_t>(object, code.file),
          .line_table = value_at<uint64_t>(object, code.line_table),
          .first_line = value_at<int32_t>(object, code.first_line),
          .name_hash = name_hash};
}

void CodeTable::read_new(Entry& entry, const uint8_t* object) {
  const PythonLayout& layout = python_.layout();
  entry.code = kNoCode;
  entry.read_at = checks_;
  Mark mark = mark_of(object, 0);
  if (python_.code_type() != 0 && mark.type != python_.code_type()) return;
  if (mark.first_line < 0) return;
  auto code = std::make_unique<Code>();
  if (!read_texts_at_once(entry.address, object, mark, *code) &&
      !read_texts(entry.address, object, mark, *code)) {
    return;
  }
  code->version = layout.version;
  code->first_line = mark.first_line;
  uint32_t slots = 0;
  if (layout.code.frame_slots != kNowhere) {
    slots = value_at<uint32_t>(object, layout.code.frame_slots);
  } else if (layout.frame.stack_top != kNowhere) {
    slots = value_at<uint32_t>(object, layout.code.locals_count) +
            value_at<uint32_t>(object, layout.code.stack_size) +
            layout.frame.size / static_cast<uint32_t>(sizeof(uint64_t));
  }
  if (slots <= kMaxFrameSlots) code->frame_bytes = slots * sizeof(uint64_t);
  entry.code = keep(std::move(code));
  entry.mark = mark;
}

uint64_t CodeTable::name_of(const uint8_t* object) const {
  const auto& code = python_.layout().code;
  const bool is_qualified = code.qualified_name != kNowhere;
  return value_at<uint64_t>(object, is_qualified ? code.qualified_name : code.name);
}

// A function may be over and gone in some microseconds, and system calls are most of what reading
// it takes. So all is read by one, as far as it is usually long, and the object once more at its
// end: another function may have taken its place, and its name's and its table's, meanwhile.
bool CodeTable::read_texts_at_once(uint64_t address, const uint8_t* object, Mark& mark,
                                   Code& code) {
  constexpr uint32_t kNameBytes = 128, kFileBytes = 256, kTableBytes = 512;
  const PythonLayout& layout = python_.layout();
  std::array<uint8_t, kNameBytes> name;
  std::array<uint8_t, kFileBytes> file;
  std::array<uint8_t, kTableBytes> table;
  object_again_.resize(layout.code.size);
  uint64_t hash = 0, hash_again = 0;
  const auto bytes_of = [](uint64_t& value) { return reinterpret_cast<uint8_t*>(&value); };
  const ProcessMemory::Piece pieces[] = {
      {mark.name + layout.unicode.hash, sizeof(hash), bytes_of(hash)},
      {name_of(object), name.size(), name.data()},
      {mark.file, file.size(), file.data()},
      {mark.line_table, table.size(), table.data()},
      {address, object_again_.size(), object_again_.data()},
      {mark.name + layout.unicode.hash, sizeof(hash), bytes_of(hash_again)},
  };
  if (python_.memory().read_all(pieces) != std::size(pieces)) return false;
  mark.name_hash = hash;
  if (mark_of(object_again_.data(), hash_again) != mark) return false;
  auto name_text = text_in(name), file_text = text_in(file);
  const auto size = value_at<uint64_t>(table.data(), kSizeOffset);
  if (!name_text || !file_text || size > kTableBytes - kContentOffset) return false;
  code.name = *std::move(name_text);
  code.file = *std::move(file_text);
  const uint8_t* content = table.data() + kContentOffset;
  code.line_table.assign(content, content + size);
  return true;
}

// The same of any length, one after the other.
bool CodeTable::read_texts(uint64_t address, const uint8_t* object, Mark& mark, Code& code) const {
  const uint64_t hash = mark.name + python_.layout().unicode.hash;
  if (!python_.memory().read(hash, mark.name_hash)) return false;
  auto name_text = read_text(name_of(object));
  auto file_text = read_text(mark.file);
  auto table = read_bytes(mark.line_table);
  if (!name_text || !file_text || !table || read_mark(address) != mark) return false;
  code.name = *std::move(name_text);
  code.file = *std::move(file_text);
  code.line_table = *std::move(table);
  return true;
}

std::optional<CodeTable::Mark> CodeTable::read_mark(uint64_t address) const {
  const PythonLayout& layout = python_.layout();
  std::vector<uint8_t> object(layout.code.size);
  if (!python_.memory().read(address, object)) return std::nullopt;
  Mark mark = mark_of(object.data(), 0);
  if (!python_.memory().read(mark.name + layout.unicode.hash, mark.name_hash)) return std::nullopt;
  return mark;
}

uint32_t CodeTable::keep(std::unique_ptr<Code> code) {
  std::string content = code->name + '\0' + code->file + '\0' + std::to_string(code->first_line) +
                        '\0' + std::to_string(code->frame_bytes) + '\0';
  content.append(code->line_table.begin(), code->line_table.end());
  const auto [known, is_new] =
      code_by_content_.try_emplace(std::move(content), static_cast<uint32_t>(codes_.size()));
  if (is_new) {
    code->id = known->second;
    codes_.push_back(std::move(code));
  }
  return known->second;
}

std::optional<std::string> CodeTable::read_text(uint64_t address) const {
  uint8_t head[48];
  if (!python_.memory().read(address, {head, python_.layout().unicode.ascii_size})) {
    return std::nullopt;
  }
  const auto place = place_of_text(head);
  if (!place) return std::nullopt;
  std::vector<uint8_t> bytes(place->bytes());
  if (!python_.memory().read(address + place->offset, bytes)) return std::nullopt;
  return place->decode(bytes.data());
}

// Of a string object, as far as it was read; nothing where that is too short.
std::optional<std::string> CodeTable::text_in(std::span<const uint8_t> object) const {
  const auto place = place_of_text(object.data());
  if (!place || place->offset + place->bytes() > object.size()) return std::nullopt;
  return place->decode(object.data() + place->offset);
}

std::optional<CodeTable::TextPlace> CodeTable::place_of_text(const uint8_t* head) const {
  const auto& layout = python_.layout().unicode;
  const auto length = value_at<uint64_t>(head, layout.length);
  const auto state = value_at<uint32_t>(head, layout.state);
  const uint32_t kind = state >> 2 & 7;
  const bool is_compact = (state >> 5 & 1) != 0;
  const bool is_ascii = (state >> 6 & 1) != 0;
  const bool is_good = is_compact && (kind == 1 || kind == 2 || kind == 4);
  if (!is_good || length > kMaxNameBytes) return std::nullopt;
  return TextPlace{length, kind, is_ascii ? layout.ascii_size : layout.compact_size};
}

std::string CodeTable::TextPlace::decode(const uint8_t* bytes) const {
  std::string text;
  for (uint64_t i = 0; i < length; ++i) {
    const uint32_t c = character_at(bytes, i, kind);
    append_utf8(text, is_character(c) ? c : '?');
  }
  return text;
}

std::optional<std::vector<uint8_t>> CodeTable::read_bytes(uint64_t address) const {
  uint64_t size = 0;
  if (!python_.memory().read(address + kSizeOffset, size) || size > kMaxTableBytes) {
    return std::nullopt;
  }
  std::vector<uint8_t> bytes(size);
  if (!python_.memory().read(address + kContentOffset, bytes)) return std::nullopt;
  return bytes;
}

bool CodeTable::is_new(uint64_t address) const {
  const uint32_t* place = entry_by_address_.find(address);
  return place == nullptr || entries_[*place].read_at == checks_;
}

const Code* CodeTable::find(uint64_t address) const {
  const uint32_t* place = entry_by_address_.find(address);
  if (place == nullptr || entries_[*place].code == kNoCode) return nullptr;
  return codes_[entries_[*place].code].get();
}

}  // namespace stepscope::sample
