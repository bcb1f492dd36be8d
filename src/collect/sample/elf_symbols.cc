#include "collect/sample/elf_symbols.h"

#include <elf.h>

#include <cstring>
#include <utility>

namespace stepscope::sample {

Result<ElfSymbols> ElfSymbols::open(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file) return file.status();
  ElfSymbols elf(*std::move(file));
  const auto header = elf.at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) {
    return Status::error(path + ": not an ELF file");
  }
  if (header->e_ident[EI_CLASS] != ELFCLASS64) {
    return Status::error(path + ": a 32-bit program; only 64-bit ones can be sampled");
  }
  return elf;
}

std::span<const uint8_t> ElfSymbols::part(uint64_t offset, uint64_t bytes) const {
  const auto all = file_.bytes();
  if (offset > all.size() || bytes > all.size() - offset) return {};
  return all.subspan(offset, bytes);
}

template <typename T>
std::optional<T> ElfSymbols::at(uint64_t offset) const {
  const auto bytes = part(offset, sizeof(T));
  if (bytes.empty()) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

std::optional<uint64_t> ElfSymbols::find(std::string_view name) const {
  if (name.empty()) return std::nullopt;
  const auto found = find_in(SHT_DYNSYM, name);
  return found ? found : find_in(SHT_SYMTAB, name);
}

std::optional<uint64_t> ElfSymbols::find_in(uint32_t table_type, std::string_view name) const {
  const auto header = at<Elf64_Ehdr>(0);
  for (uint32_t i = 0; i < header->e_shnum; ++i) {
    const auto table = at<Elf64_Shdr>(header->e_shoff + uint64_t{i} * sizeof(Elf64_Shdr));
    if (!table) return std::nullopt;
    if (table->sh_type != table_type) continue;
    const auto texts =
        at<Elf64_Shdr>(header->e_shoff + uint64_t{table->sh_link} * sizeof(Elf64_Shdr));
    if (!texts) continue;
    const auto names = part(texts->sh_offset, texts->sh_size);
    const auto symbols = part(table->sh_offset, table->sh_size);
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, symbols.data() + at, sizeof(symbol));
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.size()) continue;
      const auto rest = names.subspan(symbol.st_name);
      const bool is_it = rest.size() > name.size() && rest[name.size()] == 0 &&
                         std::memcmp(rest.data(), name.data(), name.size()) == 0;
      if (is_it) return symbol.st_value;
    }
  }
  return std::nullopt;
}

std::optional<uint64_t> ElfSymbols::load_bias(uint64_t address, uint64_t file_offset) const {
  const auto header = at<Elf64_Ehdr>(0);
  for (uint32_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = at<Elf64_Phdr>(header->e_phoff + uint64_t{i} * sizeof(Elf64_Phdr));
    if (!segment) return std::nullopt;
    if (segment->p_type != PT_LOAD) continue;
    const uint64_t page_mask = segment->p_align > 1 ? segment->p_align - 1 : 0;
    const uint64_t begin = segment->p_offset & ~page_mask;
    const uint64_t end = segment->p_offset + segment->p_filesz;
    if (file_offset < begin || file_offset >= end) continue;
    return address - file_offset + segment->p_offset - segment->p_vaddr;
  }
  return std::nullopt;
}

std::span<const uint8_t> ElfSymbols::bytes_at(uint64_t linked_address, uint64_t bytes) const {
  const auto header = at<Elf64_Ehdr>(0);
  for (uint32_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = at<Elf64_Phdr>(header->e_phoff + uint64_t{i} * sizeof(Elf64_Phdr));
    if (!segment) return {};
    const bool holds = segment->p_type == PT_LOAD && linked_address >= segment->p_vaddr &&
                       linked_address - segment->p_vaddr < segment->p_filesz;
    if (holds) return part(segment->p_offset + (linked_address - segment->p_vaddr), bytes);
  }
  return {};
}

}  // namespace stepscope::sample
