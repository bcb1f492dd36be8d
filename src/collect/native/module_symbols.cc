#include "collect/native/module_symbols.h"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace stepscope::sample {
namespace {

constexpr uint64_t kMaxSections = 65'536;
constexpr uint64_t kMaxSymbols = 16'000'000;
constexpr size_t kMaxNameBytes = 4096;
constexpr size_t kSymbolsPerRead = 65'536;

template <typename T>
bool read_at(const ModuleSymbols::Source& source, uint64_t offset, T& value) {
  return source(offset, {reinterpret_cast<uint8_t*>(&value), sizeof(value)});
}

bool is_function(const Elf64_Sym& symbol) {
  const int type = ELF64_ST_TYPE(symbol.st_info);
  const bool is_code =
      type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && symbol.st_size > 0);
  return is_code && symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0;
}

}  // namespace

std::string demangle(const std::string& name) {
  if (!name.starts_with("_Z") || name.size() >= kMaxNameBytes) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : name;
}

ModuleSymbols::Source open_source(const std::string& path) {
  // A shared owner: a std::function must be copyable.
  const std::shared_ptr<const int> file(
      new int(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)), [](const int* number) {
        if (*number >= 0) ::close(*number);
        delete number;
      });
  struct stat state;
  if (*file < 0 || ::fstat(*file, &state) != 0 || !S_ISREG(state.st_mode)) return {};
  return [file](uint64_t offset, std::span<uint8_t> to) {
    const ssize_t got = ::pread(*file, to.data(), to.size(), static_cast<off_t>(offset));
    return got >= 0 && static_cast<size_t>(got) == to.size();
  };
}

std::unique_ptr<ModuleSymbols> ModuleSymbols::load(Source source) {
  auto symbols = std::make_unique<ModuleSymbols>();
  Elf64_Ehdr header;
  const bool is_elf = source && read_at(source, 0, header) &&
                      std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                      header.e_ident[EI_CLASS] == ELFCLASS64;
  if (!is_elf) return symbols;
  symbols->source_ = std::move(source);
  const uint64_t count = std::min<uint64_t>(header.e_shnum, kMaxSections);
  std::vector<Elf64_Shdr> sections(count);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t offset = header.e_shoff + i * sizeof(Elf64_Shdr);
    if (!read_at(symbols->source_, offset, sections[i])) return symbols;
  }
  for (const uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
    for (const Elf64_Shdr& table : sections) {
      if (table.sh_type != type || table.sh_link >= count) continue;
      symbols->names_offset_ = sections[table.sh_link].sh_offset;
      symbols->names_bytes_ = sections[table.sh_link].sh_size;
      symbols->load_table(table.sh_offset, table.sh_size);
      symbols->is_stripped_ = type == SHT_DYNSYM;
      if (!symbols->entries_.empty()) return symbols;
    }
  }
  return symbols;
}

void ModuleSymbols::load_table(uint64_t offset, uint64_t bytes) {
  const uint64_t count = std::min(bytes / sizeof(Elf64_Sym), kMaxSymbols);
  std::vector<Elf64_Sym> some(std::min<uint64_t>(count, kSymbolsPerRead));
  for (uint64_t at = 0; at < count; at += some.size()) {
    some.resize(std::min<uint64_t>(count - at, kSymbolsPerRead));
    const std::span<uint8_t> to(reinterpret_cast<uint8_t*>(some.data()),
                                some.size() * sizeof(Elf64_Sym));
    if (!source_(offset + at * sizeof(Elf64_Sym), to)) break;
    for (const Elf64_Sym& symbol : some) {
      if (!is_function(symbol)) continue;
      const auto size = static_cast<uint32_t>(std::min<uint64_t>(symbol.st_size, UINT32_MAX));
      entries_.push_back({symbol.st_value, size, symbol.st_name});
    }
  }
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.begin < b.begin; });
  entries_.shrink_to_fit();
}

std::optional<ModuleSymbols::Found> ModuleSymbols::find(uint64_t linked_address) const {
  const auto after =
      std::upper_bound(entries_.begin(), entries_.end(), linked_address,
                       [](uint64_t wanted, const Entry& entry) { return wanted < entry.begin; });
  if (after == entries_.begin()) return std::nullopt;
  const uint64_t begin = (after - 1)->begin;
  // One place often has several names (read, __read, __libc_read): the plainest one.
  const auto rank = [](const std::string& name) {
    return std::pair(std::min(name.find_first_not_of('_'), name.size()), name.size());
  };
  std::optional<Found> found;
  for (auto entry = after; entry != entries_.begin() && (entry - 1)->begin == begin; --entry) {
    const Entry& candidate = *(entry - 1);
    // Assembler may leave out the size: up to the next one.
    if (candidate.bytes != 0 && linked_address - begin >= candidate.bytes) continue;
    std::string name = read_name(candidate.name);
    name.resize(std::min(name.find('@'), name.size()));  // "read@@GLIBC_2.2.5"
    if (name.empty() || (found && rank(found->name) <= rank(name))) continue;
    found = Found{std::move(name), begin};
  }
  if (found) found->name = demangle(found->name);
  return found;
}

std::string ModuleSymbols::read_name(uint32_t offset) const {
  if (offset >= names_bytes_) return "";
  std::array<uint8_t, kMaxNameBytes> bytes;
  std::string name;
  // Most names are short: a piece first.
  for (const size_t want : {size_t{256}, kMaxNameBytes}) {
    const size_t count = std::min<uint64_t>(want, names_bytes_ - offset);
    if (!source_(names_offset_ + offset, std::span(bytes).first(count))) return "";
    const auto end = std::find(bytes.begin(), bytes.begin() + count, uint8_t{0});
    name.assign(bytes.begin(), end);
    if (end != bytes.begin() + count) break;
  }
  return name;
}

}  // namespace stepscope::sample
