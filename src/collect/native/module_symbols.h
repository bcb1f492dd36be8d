// ModuleSymbols: the functions of a program or library by address, from its file (or from memory
// where it has none: the kernel's vdso). The table is sorted once; names are read where they are
// first asked for. Nothing in the file is believed: what lies outside of it is left out.
//
//   auto symbols = ModuleSymbols::load(source);
//   if (auto found = symbols->find(address - bias)) found->name;      // "at::native::addmm(…)"
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stepscope::sample {

class ModuleSymbols {
 public:
  // Reads the bytes at an offset of the file; false where not all of them are there.
  using Source = std::function<bool(uint64_t offset, std::span<uint8_t> to)>;
  struct Found {
    std::string name;  // demangled; of Rust as it is
    uint64_t begin;    // as linked
  };

  // Of all functions, or where it was stripped of those that other libraries may call.
  static std::unique_ptr<ModuleSymbols> load(Source source);

  std::optional<Found> find(uint64_t linked_address) const;
  size_t size() const { return entries_.size(); }
  bool is_stripped() const { return is_stripped_; }

 private:
  struct Entry {
    uint64_t begin;
    uint32_t bytes;
    uint32_t name;  // offset in the table of names
  };

  void load_table(uint64_t offset, uint64_t bytes);
  std::string read_name(uint32_t offset) const;

  Source source_;
  uint64_t names_offset_ = 0;
  uint64_t names_bytes_ = 0;
  bool is_stripped_ = true;
  std::vector<Entry> entries_;  // by begin
};

// "at::native::addmm(at::Tensor const&)" of "_ZN2at6native5addmm…"; others as they are.
std::string demangle(const std::string& name);

// A file, kept open. Empty where it can not be read.
ModuleSymbols::Source open_source(const std::string& path);

}  // namespace stepscope::sample
