#include "collect/sample/elf_symbols.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "collect/sample/process_maps.h"

// Looked for by the tests; kept by the linker, with its name.
extern "C" {
extern const uint32_t stepscope_test_number;
const uint32_t stepscope_test_number = 0x12345678;
}

namespace stepscope::sample {
namespace {

class ElfSymbolsTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ =
        std::filesystem::temp_directory_path() / ("stepscope_elf_" + std::to_string(::getpid()));
  }
  void TearDown() override { std::filesystem::remove(path_); }

  void write(const std::vector<char>& bytes) {
    std::ofstream(path_, std::ios::binary).write(bytes.data(), std::ssize(bytes));
  }
  // All of its functions, whatever comes out.
  void use() {
    const auto elf = ElfSymbols::open(path_);
    if (!elf) return;
    elf->find("_PyRuntime");
    elf->find("");
    elf->load_bias(0x7f0000000000, 0);
    elf->load_bias(UINT64_MAX, UINT64_MAX);
    elf->bytes_at(0x1000, 4);
    elf->bytes_at(UINT64_MAX, UINT64_MAX);
  }

  std::filesystem::path path_;
};

// A file of two segments and a table of one symbol, made by hand.
std::vector<char> small_elf() {
  struct {
    Elf64_Ehdr header{};
    Elf64_Phdr segments[2]{};
    Elf64_Shdr sections[3]{};
    Elf64_Sym symbols[2]{};
    char names[16] = "\0_PyRuntime";
    uint32_t number = 77;
  } file;
  std::memcpy(file.header.e_ident, ELFMAG, SELFMAG);
  file.header.e_ident[EI_CLASS] = ELFCLASS64;
  file.header.e_phoff = offsetof(decltype(file), segments);
  file.header.e_phnum = 2;
  file.header.e_shoff = offsetof(decltype(file), sections);
  file.header.e_shnum = 3;
  file.segments[0] = {.p_type = PT_NOTE};
  file.segments[1] = {
      .p_type = PT_LOAD, .p_vaddr = 0x10000, .p_filesz = sizeof(file), .p_align = 0x1000};
  file.sections[1] = {.sh_type = SHT_DYNSYM,
                      .sh_offset = offsetof(decltype(file), symbols),
                      .sh_size = sizeof(file.symbols),
                      .sh_link = 2};
  file.sections[2] = {.sh_type = SHT_STRTAB,
                      .sh_offset = offsetof(decltype(file), names),
                      .sh_size = sizeof(file.names)};
  file.symbols[1] = {
      .st_name = 1, .st_shndx = 1, .st_value = 0x10000 + offsetof(decltype(file), number)};
  const char* bytes = reinterpret_cast<const char*>(&file);
  return {bytes, bytes + sizeof(file)};
}

TEST_F(ElfSymbolsTest, FindsWhatThisProgramHasWhereItIsLoaded) {
  const auto elf = ElfSymbols::open("/proc/self/exe");
  ASSERT_TRUE(elf.ok()) << elf.status().message();
  const auto symbol = elf->find("stepscope_test_number");
  ASSERT_TRUE(symbol.has_value());
  const auto bytes = elf->bytes_at(*symbol, 4);
  ASSERT_EQ(bytes.size(), 4u);
  EXPECT_EQ(std::memcmp(bytes.data(), &stepscope_test_number, 4), 0);
  const auto address = reinterpret_cast<uint64_t>(&stepscope_test_number);
  const auto mappings = read_process_maps(::getpid());
  const Mapping* mapping = find_mapping(mappings, address);
  ASSERT_NE(mapping, nullptr);
  EXPECT_EQ(elf->load_bias(mapping->begin, mapping->file_offset), address - *symbol);
  EXPECT_FALSE(elf->find("stepscope_test_numbe").has_value());
  EXPECT_FALSE(elf->find("").has_value());
}

TEST_F(ElfSymbolsTest, ASmallFileIsReadAsItSays) {
  write(small_elf());
  const auto elf = ElfSymbols::open(path_);
  ASSERT_TRUE(elf.ok()) << elf.status().message();
  const auto symbol = elf->find("_PyRuntime");
  ASSERT_TRUE(symbol.has_value());
  EXPECT_EQ(elf->bytes_at(*symbol, 4)[0], 77);
  EXPECT_EQ(elf->load_bias(0x7f0000000000, 0), 0x7f0000000000 - 0x10000);
}

TEST_F(ElfSymbolsTest, SaysWhatIsWrong) {
  const auto none = ElfSymbols::open(path_);
  EXPECT_FALSE(none.ok());
  write({'#', '!', '/', 'b', 'i', 'n'});
  EXPECT_EQ(ElfSymbols::open(path_).status().message(), path_.string() + ": not an ELF file");
  std::vector<char> old = small_elf();
  old[EI_CLASS] = ELFCLASS32;
  write(old);
  EXPECT_EQ(ElfSymbols::open(path_).status().message(),
            path_.string() + ": a 32-bit program; only 64-bit ones can be sampled");
}

TEST_F(ElfSymbolsTest, AFileThatEndsTooSoonDoesNoHarm) {
  const std::vector<char> whole = small_elf();
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    write({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(bytes)});
    use();
  }
}

TEST_F(ElfSymbolsTest, DamagedBytesDoNoHarm) {
  const std::vector<char> whole = small_elf();
  std::mt19937 random(7);
  for (int i = 0; i < 5000; ++i) {
    std::vector<char> bytes = whole;
    for (int k = 0; k < 4; ++k)
      bytes[4 + random() % (bytes.size() - 4)] = static_cast<char>(random());
    bytes[EI_CLASS] = ELFCLASS64;
    write(bytes);
    use();
  }
}

}  // namespace
}  // namespace stepscope::sample
