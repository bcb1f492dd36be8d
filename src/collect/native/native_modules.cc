#include "collect/native/native_modules.h"

#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

namespace stepscope::sample {
namespace {

constexpr int64_t kRefreshNs = 1'000'000'000;
constexpr int64_t kRefreshUnknownNs = 10'000'000;  // for addresses that no module has
constexpr size_t kMaxPages = 16'384;               // 64 MB
constexpr uint64_t kMaxUnwindEntries = 100'000'000;
constexpr size_t kMaxProgramHeaders = 64;
constexpr uint64_t kMaxNoteBytes = 1024;
constexpr uint64_t kMaxImageBytes = 65'536;  // of code without a file: the vdso

int64_t now_ns() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

template <typename T>
std::span<uint8_t> bytes_of(T& value) {
  return {reinterpret_cast<uint8_t*>(&value), sizeof(value)};
}

std::vector<Elf64_Phdr> read_program_headers(const ModuleSymbols::Source& source) {
  Elf64_Ehdr header;
  const bool is_elf = source(0, bytes_of(header)) &&
                      std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                      header.e_ident[EI_CLASS] == ELFCLASS64;
  if (!is_elf) return {};
  std::vector<Elf64_Phdr> headers(std::min<size_t>(header.e_phnum, kMaxProgramHeaders));
  for (size_t i = 0; i < headers.size(); ++i) {
    if (!source(header.e_phoff + i * sizeof(Elf64_Phdr), bytes_of(headers[i]))) return {};
  }
  return headers;
}

ModuleSymbols::Source memory_source(const ProcessMemory& memory, uint64_t begin, uint64_t bytes) {
  return [&memory, begin, bytes](uint64_t offset, std::span<uint8_t> to) {
    return offset <= bytes && to.size() <= bytes - offset && memory.read(begin + offset, to);
  };
}

// Tables of large libraries (torch's: 530,000 functions) are the same for all processes.
std::shared_ptr<const ModuleSymbols> load_shared(const std::string& path,
                                                 ModuleSymbols::Source source) {
  struct stat state;
  if (::stat(path.c_str(), &state) != 0) return ModuleSymbols::load(std::move(source));
  static std::mutex mutex;
  static std::map<std::tuple<dev_t, ino_t, off_t, int64_t>, std::weak_ptr<const ModuleSymbols>> all;
  const std::lock_guard lock(mutex);
  auto& known = all[{state.st_dev, state.st_ino, state.st_size,
                     state.st_mtim.tv_sec * 1'000'000'000 + state.st_mtim.tv_nsec}];
  std::shared_ptr<const ModuleSymbols> symbols = known.lock();
  if (symbols == nullptr) known = symbols = ModuleSymbols::load(std::move(source));
  return symbols;
}

// "/usr/lib/debug/.build-id/ab/cdef….debug": where packages of debug symbols put the names that
// were stripped. Empty where there is no build id.
std::string debug_file_of(const std::vector<uint8_t>& note) {
  Elf64_Nhdr header;
  if (note.size() < sizeof(header)) return "";
  std::memcpy(&header, note.data(), sizeof(header));
  const size_t begin = sizeof(header) + (size_t{header.n_namesz} + 3) / 4 * 4;
  const bool is_build_id = header.n_type == NT_GNU_BUILD_ID && header.n_descsz >= 2 &&
                           begin < note.size() && header.n_descsz <= note.size() - begin;
  if (!is_build_id) return "";
  std::string path = "/usr/lib/debug/.build-id/";
  for (size_t i = 0; i < header.n_descsz; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", note[begin + i]);
    path += digits;
    if (i == 0) path += '/';
  }
  return path + ".debug";
}

}  // namespace

NativeModules::Module* NativeModules::find(uint64_t address) {
  const auto look = [&]() -> Module* {
    const auto after = std::upper_bound(
        modules_.begin(), modules_.end(), address,
        [](uint64_t wanted, const auto& module) { return wanted < module->begin; });
    if (after == modules_.begin() || address >= (*(after - 1))->end) return nullptr;
    return (after - 1)->get();
  };
  Module* module = look();
  if (module == nullptr && refresh(kRefreshUnknownNs)) module = look();
  return module;
}

uint64_t NativeModules::end_of_mapping(uint64_t address) {
  const Mapping* mapping = find_mapping(mappings_, address);
  if (mapping == nullptr && refresh(0)) mapping = find_mapping(mappings_, address);
  return mapping == nullptr ? 0 : mapping->end;
}

void NativeModules::refresh_at_times() { refresh(kRefreshNs); }

bool NativeModules::refresh(int64_t age_ns) {
  const int64_t now = now_ns();
  if (refreshed_ns_ != 0 && now - refreshed_ns_ < age_ns) return false;
  refreshed_ns_ = now;
  mappings_ = read_process_maps(memory_.pid());
  std::vector<std::unique_ptr<Module>> modules;
  bool is_same = true;
  for (const Mapping& mapping : mappings_) {
    if (!mapping.is_executable) continue;
    const auto known = std::find_if(modules_.begin(), modules_.end(), [&](const auto& module) {
      return module != nullptr && module->begin == mapping.begin && module->end == mapping.end &&
             module->file_offset == mapping.file_offset && module->path == mapping.path;
    });
    if (known != modules_.end()) {
      modules.push_back(std::move(*known));
      continue;
    }
    is_same = false;
    modules.push_back(std::make_unique<Module>());
    Module& module = *modules.back();
    module.begin = mapping.begin;
    module.end = mapping.end;
    module.file_offset = mapping.file_offset;
    module.path = mapping.path;
    describe(module);
  }
  is_same &= modules.size() == modules_.size();
  modules_ = std::move(modules);
  if (!is_same) {
    ++generation_;
    page_numbers_ = {};
    pages_.clear();
    last_ = nullptr;
  }
  return true;
}

// From the process's memory: it is there too where the file is gone.
void NativeModules::describe(Module& module) {
  for (const Mapping& mapping : mappings_) {
    if (mapping.begin > module.begin) break;
    if (mapping.path == module.path && mapping.file_offset == 0) module.header = mapping.begin;
  }
  if (module.header == 0 || module.path.empty()) return;
  const auto source = memory_source(memory_, module.header, module.end - module.header);
  const std::vector<Elf64_Phdr> headers = read_program_headers(source);
  for (const Elf64_Phdr& header : headers) {
    if (header.p_type == PT_LOAD && header.p_offset < kPageBytes) {
      module.bias = module.header - (header.p_vaddr - header.p_offset);
      break;
    }
  }
  for (const Elf64_Phdr& header : headers) {
    if (header.p_type == PT_GNU_EH_FRAME) find_unwind_table(module, module.bias + header.p_vaddr);
  }
}

// .eh_frame_hdr: version 1, three encodings, a pointer of 4 bytes, the count and the table, in the
// one form that linkers write.
void NativeModules::find_unwind_table(Module& module, uint64_t address) {
  struct {
    uint8_t version, pointer_encoding, count_encoding, table_encoding;
    int32_t frames;
    uint32_t count;
  } header;
  if (!memory_.read(address, header)) return;
  const bool is_known = header.version == 1 && (header.pointer_encoding & 0x0f) == 0x0b &&
                        header.count_encoding == 0x03 && header.table_encoding == 0x3b;
  if (!is_known || header.count > kMaxUnwindEntries) return;
  module.unwind_header = address;
  module.unwind_table = address + sizeof(header);
  module.unwind_count = header.count;
}

const ModuleSymbols& NativeModules::symbols_of(Module& module) {
  if (module.symbols == nullptr) module.symbols = load_symbols(module);
  return *module.symbols;
}

std::shared_ptr<const ModuleSymbols> NativeModules::load_symbols(const Module& module) const {
  if (module.path == "[vdso]" && module.end - module.header <= kMaxImageBytes) {
    return ModuleSymbols::load(memory_source(memory_, module.header, module.end - module.header));
  }
  if (module.path.empty() || module.path.front() != '/') return ModuleSymbols::load({});
  const pid_t pid = memory_.pid();
  char exact[80];  // needs rights, and finds deleted files too
  std::snprintf(exact, sizeof(exact), "/proc/%d/map_files/%lx-%lx", pid, module.begin, module.end);
  for (const std::string& path : {std::string(exact), path_from_outside(pid, module.path)}) {
    auto source = open_source(path);
    if (!source || !is_what_is_loaded(module, source)) continue;
    auto symbols = load_shared(path, source);
    if (!symbols->is_stripped()) return symbols;
    std::vector<uint8_t> note;
    for (const Elf64_Phdr& header : read_program_headers(source)) {
      if (header.p_type != PT_NOTE || header.p_filesz > kMaxNoteBytes) continue;
      note.resize(header.p_filesz);
      if (!source(header.p_offset, note)) continue;
      const std::string debug_path = debug_file_of(note);
      if (debug_path.empty()) continue;
      const std::string outside = path_from_outside(pid, debug_path);
      auto debug_source = open_source(outside);
      if (!debug_source) continue;
      auto debug_symbols = load_shared(outside, std::move(debug_source));
      if (!debug_symbols->is_stripped()) return debug_symbols;
    }
    return symbols;
  }
  return ModuleSymbols::load({});
}

// The file may have been replaced since: its headers and its notes (with the build id) tell.
bool NativeModules::is_what_is_loaded(const Module& module,
                                      const ModuleSymbols::Source& source) const {
  const auto loaded = memory_source(memory_, module.header, module.end - module.header);
  const std::vector<Elf64_Phdr> headers = read_program_headers(source);
  const std::vector<Elf64_Phdr> loaded_headers = read_program_headers(loaded);
  if (headers.empty() || headers.size() != loaded_headers.size()) return false;
  for (size_t i = 0; i < headers.size(); ++i) {
    const Elf64_Phdr& header = headers[i];
    if (std::memcmp(&header, &loaded_headers[i], sizeof(header)) != 0) return false;
    if (header.p_type != PT_NOTE || header.p_filesz > kMaxNoteBytes) continue;
    std::vector<uint8_t> note(header.p_filesz), loaded_note(header.p_filesz);
    const bool is_read = source(header.p_offset, note) &&
                         memory_.read(module.bias + header.p_vaddr, std::span(loaded_note));
    if (!is_read || note != loaded_note) return false;
  }
  return true;
}

bool NativeModules::read_constant(uint64_t address, uint64_t& word) {
  const uint64_t at = address % kPageBytes;
  const Page* page = find_page(address / kPageBytes);
  if (page == nullptr) return false;
  const uint64_t first = std::min(kPageBytes - at, sizeof(word));
  std::memcpy(&word, page->data() + at, first);
  if (first == sizeof(word)) return true;
  page = find_page(address / kPageBytes + 1);
  if (page == nullptr) return false;
  std::memcpy(reinterpret_cast<uint8_t*>(&word) + first, page->data(), sizeof(word) - first);
  return true;
}

bool NativeModules::read_variable(uint64_t address, uint64_t& word) const {
  const Mapping* mapping = find_mapping(mappings_, address);
  return mapping != nullptr && mapping->is_file() && memory_.read(address, word);
}

const NativeModules::Page* NativeModules::find_page(uint64_t page) {
  if (last_ != nullptr && last_page_ == page) return last_;
  const uint32_t* number = page_numbers_.find(page);
  if (number == nullptr) {
    const Mapping* mapping = find_mapping(mappings_, page * kPageBytes);
    if (mapping == nullptr || mapping->is_writable || mapping->path.empty()) return nullptr;
    if (pages_.size() >= kMaxPages) {
      page_numbers_ = {};
      pages_.clear();
    }
    auto bytes = std::make_unique<Page>();
    if (!memory_.read(page * kPageBytes, std::span(*bytes))) return nullptr;
    pages_.push_back(std::move(bytes));
    number = &page_numbers_.try_emplace(page, static_cast<uint32_t>(pages_.size() - 1)).value;
  }
  last_page_ = page;
  last_ = pages_[*number].get();
  return last_;
}

}  // namespace stepscope::sample
