// ElfSymbols: where a shared library or a program has its symbols, from the file. 64-bit, this
// machine's byte order. The file is believed in nothing: every offset is checked.
//
//   auto elf = ElfSymbols::open("/usr/lib/libpython3.11.so.1.0");
//   auto offset = elf->find("_PyRuntime");                   // as linked
//   auto bias = elf->load_bias(mapping.begin, mapping.file_offset);
//   uint64_t address = *bias + *offset;
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/mapped_file.h"
#include "base/status.h"

namespace stepscope::sample {

class ElfSymbols {
 public:
  static Result<ElfSymbols> open(const std::string& path);

  // Of a symbol that is defined here, by its name: of those for the linker first, then of all.
  std::optional<uint64_t> find(std::string_view name) const;
  // What is added to linked addresses where the part of the file at `file_offset` is mapped at
  // `address`.
  std::optional<uint64_t> load_bias(uint64_t address, uint64_t file_offset) const;
  // Bytes of the file that are mapped at a linked address; empty where it has none.
  std::span<const uint8_t> bytes_at(uint64_t linked_address, uint64_t bytes) const;

 private:
  explicit ElfSymbols(MappedFile file) : file_(std::move(file)) {}
  template <typename T>
  std::optional<T> at(uint64_t offset) const;
  std::span<const uint8_t> part(uint64_t offset, uint64_t bytes) const;
  std::optional<uint64_t> find_in(uint32_t table_type, std::string_view name) const;

  MappedFile file_;
};

}  // namespace stepscope::sample
