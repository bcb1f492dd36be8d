#include "collect/native/module_symbols.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace stepscope::sample {
namespace {

// Bytes as a file.
ModuleSymbols::Source source_of(std::vector<uint8_t> bytes) {
  return [bytes = std::move(bytes)](uint64_t offset, std::span<uint8_t> to) {
    if (offset > bytes.size() || to.size() > bytes.size() - offset) return false;
    if (!to.empty()) std::memcpy(to.data(), bytes.data() + offset, to.size());
    return true;
  };
}

// A table of four functions, two of them at one place, and the last without a size.
std::vector<uint8_t> small_elf() {
  struct {
    Elf64_Ehdr header{};
    Elf64_Shdr sections[3]{};
    Elf64_Sym symbols[5]{};
    char names[64] = "\0__read\0read@@GLIBC_2.2.5\0_ZN2at6native5addmmEi\0last";
  } file;
  std::memcpy(file.header.e_ident, ELFMAG, SELFMAG);
  file.header.e_ident[EI_CLASS] = ELFCLASS64;
  file.header.e_shoff = offsetof(decltype(file), sections);
  file.header.e_shnum = 3;
  file.sections[1] = {.sh_type = SHT_SYMTAB,
                      .sh_offset = offsetof(decltype(file), symbols),
                      .sh_size = sizeof(file.symbols),
                      .sh_link = 2};
  file.sections[2] = {.sh_type = SHT_STRTAB,
                      .sh_offset = offsetof(decltype(file), names),
                      .sh_size = sizeof(file.names)};
  const auto function = [](uint32_t name, uint64_t begin, uint64_t bytes) {
    return Elf64_Sym{.st_name = name,
                     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                     .st_shndx = 1,
                     .st_value = begin,
                     .st_size = bytes};
  };
  file.symbols[1] = function(1, 0x1000, 0x10);
  file.symbols[2] = function(8, 0x1000, 0x10);
  file.symbols[3] = function(26, 0x2000, 0x10);
  file.symbols[4] = function(48, 0x3000, 0);
  const auto* bytes = reinterpret_cast<const uint8_t*>(&file);
  return {bytes, bytes + sizeof(file)};
}

std::string name_at(const ModuleSymbols& symbols, uint64_t address) {
  const auto found = symbols.find(address);
  return found ? found->name : "";
}

TEST(ModuleSymbols, FunctionsAreFoundByTheAddressesInThem) {
  const auto symbols = ModuleSymbols::load(source_of(small_elf()));
  EXPECT_EQ(symbols->size(), 4u);
  EXPECT_FALSE(symbols->is_stripped());
  EXPECT_EQ(name_at(*symbols, 0xfff), "");
  EXPECT_EQ(name_at(*symbols, 0x1010), "");  // behind it
  EXPECT_EQ(name_at(*symbols, 0x2008), "at::native::addmm(int)");
  EXPECT_EQ(symbols->find(0x2008)->begin, 0x2000u);
  EXPECT_EQ(name_at(*symbols, 0x3fff), "last");
}

TEST(ModuleSymbols, OfSeveralNamesThePlainestIsGivenWithoutItsVersion) {
  const auto symbols = ModuleSymbols::load(source_of(small_elf()));
  EXPECT_EQ(name_at(*symbols, 0x1008), "read");
}

TEST(ModuleSymbols, WhatIsNoElfFileHasNone) {
  EXPECT_EQ(ModuleSymbols::load({})->size(), 0u);
  EXPECT_EQ(ModuleSymbols::load(source_of({}))->size(), 0u);
  EXPECT_EQ(ModuleSymbols::load(source_of(std::vector<uint8_t>(1000, 'x')))->size(), 0u);
  EXPECT_FALSE(open_source("/does/not/exist"));
  EXPECT_FALSE(open_source("/dev/null"));
}

TEST(ModuleSymbols, AFileThatEndsTooSoonDoesNoHarm) {
  const std::vector<uint8_t> whole = small_elf();
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const auto end = whole.begin() + static_cast<ptrdiff_t>(bytes);
    const auto symbols = ModuleSymbols::load(source_of({whole.begin(), end}));
    for (const uint64_t address : {0x1008, 0x2008, 0x3008}) symbols->find(address);
  }
}

TEST(ModuleSymbols, DamagedBytesDoNoHarm) {
  const std::vector<uint8_t> whole = small_elf();
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<uint8_t> bytes = whole;
    for (int k = 0; k < 4; ++k) {
      bytes[5 + random() % (bytes.size() - 5)] = static_cast<uint8_t>(random());
    }
    const auto symbols = ModuleSymbols::load(source_of(std::move(bytes)));
    for (const uint64_t address : {0x1008, 0x2008, 0x3008}) symbols->find(address);
  }
}

TEST(Demangle, GivesOtherNamesBackAsTheyAre) {
  EXPECT_EQ(demangle("_ZN2at6native5addmmEv"), "at::native::addmm()");
  EXPECT_EQ(demangle("qsort"), "qsort");
  EXPECT_EQ(demangle("_Zbroken"), "_Zbroken");
  EXPECT_EQ(demangle(""), "");
}

}  // namespace
}  // namespace stepscope::sample
