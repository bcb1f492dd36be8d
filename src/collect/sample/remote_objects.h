// RemoteObjects: Python objects in another process, by their addresses: texts, numbers, containers,
// attributes, modules. The process goes on running, so whatever is read may be half changed or
// another object by now: nothing is believed, every size is bounded, and what can not be is not
// given. One thread at a time.
//
//   RemoteObjects objects(python);
//   for (uint64_t interpreter : objects.find_interpreters()) {
//     uint64_t module = objects.find_module(interpreter, "threading");
//     uint64_t active = objects.find_in_module(module, "_active");
//     for (auto [key, value] : objects.read_dict(active, 100).entries) ...
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collect/sample/object_layout.h"
#include "collect/sample/python_process.h"

namespace stepscope::sample {

struct ObjectType {
  uint64_t address = 0;
  std::string name;  // as the type has it: "dict", "collections.deque"; of a class, without module
  uint64_t flags = 0;
  uint64_t base = 0;
  uint64_t dict = 0;
  int64_t basic_size = 0, item_size = 0, dict_offset = 0;

  bool is(uint64_t flag) const { return (flags & flag) != 0; }
};

struct TextValue {
  std::string utf8;     // of bytes: these
  uint64_t length = 0;  // of the whole, in characters; `utf8` may be its beginning
  bool is_cut = false;
};

struct IntValue {
  bool is_negative = false;
  uint64_t bits = 0;
  std::string text;  // decimal; empty where it is too long
};

struct ItemsValue {
  std::vector<uint64_t> items;  // the first ones; 0 where there is none
  uint64_t length = 0;
};

struct DictValue {
  struct Entry {
    uint64_t key, value;
  };
  std::vector<Entry> entries;  // the first ones
  uint64_t length = 0;
};

class RemoteObjects {
 public:
  // Borrows it.
  explicit RemoteObjects(const PythonProcess& python);

  const PythonProcess& python() const { return python_; }
  const ObjectLayout& layout() const { return layout_; }

  // 0 where it can not be read.
  uint64_t read_pointer(uint64_t address) const;
  template <typename T>
  bool read(uint64_t address, T& value) const {
    return is_address(address) && python_.memory().read(address, value);
  }
  bool read(uint64_t address, std::span<uint8_t> to) const {
    return is_address(address) && python_.memory().read(address, to);
  }

  // None where it is no object.
  std::optional<ObjectType> type_of(uint64_t object);
  std::optional<ObjectType> read_type(uint64_t type);
  // "collections.OrderedDict", "Model.Layer" of the main program with its module, "list".
  std::string full_name(const ObjectType& type);
  // The type or one that it derives from has this name.
  bool derives_from(const ObjectType& type, std::string_view name);

  // Each none where the object is not of that type (or one derived from it).
  std::optional<TextValue> read_text(uint64_t object, size_t max_characters);
  std::optional<TextValue> read_bytes(uint64_t object, size_t max_bytes);
  std::optional<IntValue> read_int(uint64_t object);
  std::optional<uint64_t> read_unsigned(uint64_t object);  // an int below 2^64
  std::optional<double> read_float(uint64_t object);
  ItemsValue read_items(uint64_t tuple_or_list, size_t max_items);
  ItemsValue read_set(uint64_t set, size_t max_items);
  DictValue read_dict(uint64_t dict, size_t max_entries);

  // The value by a text key; 0 where there is none. Long dicts: among the first 65,536.
  uint64_t find_in_dict(uint64_t dict, std::string_view name);
  // Of the object itself, not of its class.
  uint64_t find_attribute(uint64_t object, std::string_view name);
  uint64_t find_in_module(uint64_t module, std::string_view name);
  uint64_t find_module(uint64_t interpreter, std::string_view name);  // of its sys.modules
  std::vector<uint64_t> find_interpreters() const;

  // User space, aligned as objects are.
  static bool is_address(uint64_t address) {
    return address >= 4096 && address < (uint64_t{1} << 56);
  }

 private:
  // Where the entries of a dict's keys lie.
  struct Keys {
    uint64_t entries = 0;  // address
    uint64_t count = 0;
    uint32_t entry_bytes = 0;
    uint32_t key_offset = 0;
  };

  std::optional<Keys> read_keys(uint64_t keys) const;
  // Entries of keys [first, first + count), from an array of values where there is one.
  std::vector<DictValue::Entry> read_entries(const Keys& keys, uint64_t values, uint64_t first,
                                             uint64_t count) const;
  uint64_t find_in_keys(uint64_t keys, uint64_t values, std::string_view name);
  // The place in `entries` whose key is this text.
  std::optional<size_t> find_key(std::span<const DictValue::Entry> entries, std::string_view name);
  uint64_t values_of_dict(uint64_t values) const;
  uint64_t dict_of_managed(uint64_t object, const ObjectType& type, uint64_t& values) const;

  const PythonProcess& python_;
  const ObjectLayout& layout_;
  // Types that are not on the heap: what they are does not change.
  std::unordered_map<uint64_t, ObjectType> types_;
};

}  // namespace stepscope::sample
