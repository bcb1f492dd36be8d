// CodeTable: what the code objects of a process are called and where their lines are. Read when an
// address is first seen, and looked at again whenever it is on a stack (check()), because the
// address of a function that is gone is soon another's.
//
//   CodeTable codes(python);
//   codes.check(addresses);                     // all code on the stacks of this moment
//   const Code* code = codes.find(address);     // null: it is no code object
//   int line = code->line(instruction);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/flat_map.h"
#include "collect/sample/line_table.h"
#include "collect/sample/python_process.h"

namespace stepscope::sample {

struct Code {
  uint32_t id = 0;  // from 0 on; another function at the same address has another
  PythonVersion version;
  std::string name;  // qualified, where the version has that
  std::string file;
  int32_t first_line = 0;
  uint32_t frame_bytes = 0;  // of a frame on Python's stack; 0: not known
  std::vector<uint8_t> line_table;

  // The line of the instruction at this offset in bytes; 0 where it has none.
  int32_t line(int32_t instruction) const {
    return find_line(version, line_table, first_line, instruction);
  }
};

class CodeTable {
 public:
  explicit CodeTable(const PythonProcess& python) : python_(python) {}

  // Reads what is new among the addresses and looks whether the others still are what they were.
  void check(std::span<const uint64_t> addresses);
  // As of the last check().
  const Code* find(uint64_t address) const;
  // The last check() found it to be new at its address: a frame that was copied before may have
  // been another function's.
  bool is_new(uint64_t address) const;
  // 0 where it is not known. For whoever has not checked yet.
  uint32_t frame_bytes(uint64_t address) const {
    const Code* code = find(address);
    return code != nullptr ? code->frame_bytes : 0;
  }
  const Code& code(uint32_t id) const { return *codes_[id]; }
  uint32_t size() const { return static_cast<uint32_t>(codes_.size()); }

 private:
  static constexpr uint32_t kNoCode = UINT32_MAX;

  // What tells one code object from another at the same address.
  struct Mark {
    uint64_t type = 0, name = 0, file = 0, line_table = 0;
    int32_t first_line = 0;
    uint64_t name_hash = 0;
    bool operator==(const Mark&) const = default;
  };
  struct Entry {
    uint64_t address = 0;
    Mark mark;
    uint32_t code = kNoCode;
    uint64_t checked_at = 0;
    uint64_t read_at = 0;  // which check
  };

  // Where a string object has its characters.
  struct TextPlace {
    uint64_t length;
    uint32_t kind;  // bytes of a character
    uint32_t offset;
    uint64_t bytes() const { return length * kind; }
    std::string decode(const uint8_t* bytes) const;
  };

  Mark mark_of(const uint8_t* object, uint64_t name_hash) const;
  void collect(std::span<const uint64_t> addresses);
  void read_objects();
  void read_new(Entry& entry, const uint8_t* object);
  uint64_t name_of(const uint8_t* object) const;
  bool read_texts_at_once(uint64_t address, const uint8_t* object, Mark& mark, Code& code);
  bool read_texts(uint64_t address, const uint8_t* object, Mark& mark, Code& code) const;
  std::optional<Mark> read_mark(uint64_t address) const;
  uint32_t keep(std::unique_ptr<Code> code);
  std::optional<std::string> read_text(uint64_t address) const;
  std::optional<std::string> text_in(std::span<const uint8_t> object) const;
  std::optional<TextPlace> place_of_text(const uint8_t* head) const;
  std::optional<std::vector<uint8_t>> read_bytes(uint64_t address) const;

  const PythonProcess& python_;
  FlatMap entry_by_address_;
  std::vector<Entry> entries_;
  std::vector<std::unique_ptr<Code>> codes_;
  // A function that is made again and again has one Code.
  std::unordered_map<std::string, uint32_t> code_by_content_;
  uint64_t checks_ = 0;
  // Of one check.
  std::vector<uint32_t> wanted_;  // entries
  std::vector<uint8_t> objects_, object_again_;
  std::vector<uint64_t> hashes_;
  std::vector<ProcessMemory::Piece> pieces_;
  std::vector<bool> is_read_;
};

}  // namespace stepscope::sample
