#include "collect/sample/object_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

namespace stepscope::sample {
namespace {

constexpr std::string_view kCut = "…";

size_t count_characters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string cut(std::string text, size_t max_characters) {
  if (count_characters(text) <= max_characters) return text;
  size_t characters = 0;
  size_t end = 0;
  while (end < text.size()) {
    if ((text[end] & 0xc0) != 0x80 && ++characters == max_characters) break;
    ++end;
  }
  return text.substr(0, end).append(kCut);
}

std::string hex(uint64_t value, int digits) {
  std::string text;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
    text.push_back("0123456789abcdef"[value >> shift & 15]);
  }
  return text;
}

std::string address_text(uint64_t address) {
  std::array<char, 20> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), address, 16).ptr;
  return "0x" + std::string(text.data(), end);
}

void append_escaped(std::string& text, char c, char quote, bool is_bytes) {
  const auto byte = static_cast<uint8_t>(c);
  if (c == '\n') {
    text += "\\n";
  } else if (c == '\r') {
    text += "\\r";
  } else if (c == '\t') {
    text += "\\t";
  } else if (c == '\\' || c == quote) {
    text.push_back('\\');
    text.push_back(c);
  } else if (byte < 0x20 || byte == 0x7f || (is_bytes && byte >= 0x80)) {
    text += "\\x" + hex(byte, 2);
  } else {
    text.push_back(c);
  }
}

std::string quoted(const TextValue& value, bool is_bytes) {
  const bool has_single = value.utf8.find('\'') != std::string::npos;
  const char quote = has_single && value.utf8.find('"') == std::string::npos ? '"' : '\'';
  std::string text = is_bytes ? "b" : "";
  text.push_back(quote);
  for (size_t i = 0; i < value.utf8.size(); ++i) {
    // C1 controls, two bytes in UTF-8: a terminal obeys them.
    const auto next = i + 1 < value.utf8.size() ? static_cast<uint8_t>(value.utf8[i + 1]) : 0;
    if (!is_bytes && static_cast<uint8_t>(value.utf8[i]) == 0xc2 && next < 0xa0) {
      text += "\\x" + hex(next, 2);
      ++i;
      continue;
    }
    append_escaped(text, value.utf8[i], quote, is_bytes);
  }
  if (value.is_cut) text += kCut;
  text.push_back(quote);
  return text;
}

// Writes one value; `path_` are the containers that it is within.
class Writer {
 public:
  Writer(RemoteObjects& objects, const TextLimits& limits) : objects_(objects), limits_(limits) {}

  std::string write(uint64_t object) {
    add(object, 0);
    return cut(std::move(text_), limits_.max_characters);
  }

 private:
  bool is_full() const { return text_.size() > 4 * limits_.max_characters || is_long(); }
  bool is_long() const {
    return text_.size() > limits_.max_characters &&
           count_characters(text_) > limits_.max_characters;
  }

  void add(uint64_t object, int depth) {
    const auto type = objects_.type_of(object);
    if (!type) {
      text_ += "?";
    } else if (type->is(kIntType)) {
      add_int(object, *type);
    } else if (type->is(kTextType)) {
      add_text(objects_.read_text(object, limits_.max_characters), *type, false);
    } else if (type->is(kBytesType)) {
      add_text(objects_.read_bytes(object, limits_.max_characters), *type, true);
    } else if (type->is(kListType | kTupleType | kDictType)) {
      add_container(object, *type, depth);
    } else if (type->is(kExceptionType)) {
      add_exception(object, *type, depth);
    } else {
      add_other(object, *type, depth);
    }
  }

  void add_int(uint64_t object, const ObjectType& type) {
    const auto value = objects_.read_int(object);
    if (!value) {
      text_ += "?";
      return;
    }
    std::string text = value->text;
    if (text.empty()) text = "<int of " + std::to_string(value->bits) + " bits>";
    if (type.name == "bool") {
      text_ += text == "0" ? "False" : "True";
    } else {
      add_as(type, "int", text);
    }
  }

  void add_text(const std::optional<TextValue>& value, const ObjectType& type, bool is_bytes) {
    if (!value) {
      text_ += "?";
      return;
    }
    add_as(type, is_bytes ? "bytes" : "str", quoted(*value, is_bytes));
  }

  // Of a derived class: with its name.
  void add_as(const ObjectType& type, std::string_view exact, const std::string& text) {
    text_ += type.name == exact ? text : type.name + "(" + text + ")";
  }

  void add_container(uint64_t object, const ObjectType& type, int depth) {
    const bool is_dict = type.is(kDictType);
    const bool is_tuple = type.is(kTupleType);
    const bool is_exact = type.name == (is_dict ? "dict" : is_tuple ? "tuple" : "list");
    if (!is_exact) text_ += type.name;
    if (!is_exact && !is_tuple) text_ += "(";
    text_ += is_dict ? "{" : is_tuple ? "(" : "[";
    if (is_dict) {
      add_dict_entries(object, depth);
    } else {
      add_items(object, objects_.read_items(object, limits_.max_items), depth,
                is_tuple && is_exact);
    }
    text_ += is_dict ? "}" : is_tuple ? ")" : "]";
    if (!is_exact && !is_tuple) text_ += ")";
  }

  // False where it is within itself, or too deep: "[...]" as Python says, "[…]".
  bool enter(uint64_t object, uint64_t length, int depth) {
    if (std::find(path_.begin(), path_.end(), object) != path_.end()) {
      text_ += "...";
      return false;
    }
    if (length > 0 && depth >= limits_.max_depth) {
      text_ += kCut;
      return false;
    }
    path_.push_back(object);
    return true;
  }

  void add_rest(size_t shown, uint64_t length) {
    if (shown >= length) return;
    text_ += shown > 0 ? ", … " : "… ";
    text_ += std::to_string(length - shown) + " more";
  }

  void add_items(uint64_t object, const ItemsValue& value, int depth, bool is_tuple) {
    if (!enter(object, value.length, depth)) return;
    size_t shown = 0;
    for (; shown < value.items.size() && !is_full(); ++shown) {
      if (shown > 0) text_ += ", ";
      add(value.items[shown], depth + 1);
    }
    if (is_tuple && value.length == 1) text_ += ",";
    add_rest(shown, value.length);
    path_.pop_back();
  }

  void add_dict_entries(uint64_t object, int depth) {
    const DictValue value = objects_.read_dict(object, limits_.max_items);
    if (!enter(object, value.length, depth)) return;
    size_t shown = 0;
    for (; shown < value.entries.size() && !is_full(); ++shown) {
      if (shown > 0) text_ += ", ";
      add(value.entries[shown].key, depth + 1);
      text_ += ": ";
      add(value.entries[shown].value, depth + 1);
    }
    add_rest(shown, value.length);
    path_.pop_back();
  }

  void add_exception(uint64_t object, const ObjectType& type, int depth) {
    const uint64_t arguments = objects_.read_pointer(object + kExceptionArguments);
    text_ += type.name + "(";
    if (depth < limits_.max_depth) {
      add_items(arguments, objects_.read_items(arguments, limits_.max_items), depth, false);
    }
    text_ += ")";
  }

  void add_set(uint64_t object, const ObjectType& type, int depth) {
    const ItemsValue value = objects_.read_set(object, limits_.max_items);
    const bool is_exact = type.name == "set";
    if (value.length == 0) {
      text_ += type.name + "()";
      return;
    }
    text_ += is_exact ? "{" : type.name + "({";
    add_items(object, value, depth, false);
    text_ += is_exact ? "}" : "})";
  }

  void add_other(uint64_t object, const ObjectType& type, int depth) {
    if (type.name == "NoneType") {
      text_ += "None";
    } else if (type.name == "ellipsis") {
      text_ += "Ellipsis";
    } else if (objects_.derives_from(type, "float")) {
      const auto value = objects_.read_float(object);
      add_as(type, "float", value ? float_text(*value) : "?");
    } else if (objects_.derives_from(type, "set") || objects_.derives_from(type, "frozenset")) {
      add_set(object, type, depth);
    } else if (type.name == "range") {
      add_range(object);
    } else if (type.is(kTypeType) || is_type(type)) {
      const auto shown = objects_.read_type(object);
      text_ += shown ? "<class '" + objects_.full_name(*shown) + "'>" : "?";
    } else if (type.name == "module") {
      add_named("module", object + kModuleName, 0);
    } else if (type.name == "function") {
      add_named("function", object + objects_.layout().function.qualified_name, object);
    } else {
      text_ += "<" + objects_.full_name(type) + " at " + address_text(object) + ">";
    }
  }

  bool is_type(const ObjectType& type) { return objects_.derives_from(type, "type"); }

  void add_named(std::string_view kind, uint64_t name_at, uint64_t address) {
    const auto name = objects_.read_text(objects_.read_pointer(name_at), limits_.max_characters);
    text_.append("<").append(kind).append(" ");
    text_ += !name ? "?" : address == 0 ? quoted(*name, false) : name->utf8;
    if (address != 0) text_ += " at " + address_text(address);
    text_ += ">";
  }

  void add_range(uint64_t object) {
    std::array<std::string, 3> parts;
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto value = objects_.read_int(objects_.read_pointer(object + kFirstMember + 8 * i));
      parts[i] = value && !value->text.empty() ? value->text : "?";
    }
    text_ += "range(" + parts[0] + ", " + parts[1];
    if (parts[2] != "1") text_ += ", " + parts[2];
    text_ += ")";
  }

  RemoteObjects& objects_;
  const TextLimits& limits_;
  std::string text_;
  std::vector<uint64_t> path_;
};

}  // namespace

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 64> buffer;
  char* const begin = buffer.data();
  char* const end = begin + buffer.size();
  const auto scientific = std::to_chars(begin, end, value, std::chars_format::scientific);
  const std::string text(begin, scientific.ptr);
  int exponent = 0;
  if (const size_t e = text.find('e'); e != std::string::npos) {
    const size_t digits = e + 1 + (text[e + 1] == '+' ? 1 : 0);
    std::from_chars(text.data() + digits, text.data() + text.size(), exponent);
  }
  if (exponent < -4 || exponent >= 16) return text;
  const auto fixed = std::to_chars(begin, end, value, std::chars_format::fixed);
  std::string plain(begin, fixed.ptr);
  if (plain.find('.') == std::string::npos) plain += ".0";
  return plain;
}

std::string object_text(RemoteObjects& objects, uint64_t object, const TextLimits& limits) {
  return Writer(objects, limits).write(object);
}

}  // namespace stepscope::sample
