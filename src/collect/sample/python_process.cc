#include "collect/sample/python_process.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "base/process_stat.h"
#include "collect/sample/elf_symbols.h"
#include "collect/sample/process_maps.h"

namespace stepscope::sample {
namespace {

constexpr size_t kMaxCommandLine = 200;

std::string proc_path(pid_t pid, std::string_view name) {
  return "/proc/" + std::to_string(pid) + "/" + std::string(name);
}

std::string read_text(const std::string& path) {
  const auto file = MappedFile::open(path);
  if (!file) return "";
  const auto bytes = file->bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string describe(pid_t pid) {
  std::string name = read_text(proc_path(pid, "comm"));
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return "process " + std::to_string(pid) + (name.empty() ? "" : " (" + name + ")");
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// 3.11 of "libpython3.11.so.1.0" and of "python3.11".
std::optional<PythonVersion> version_in_name(std::string_view name) {
  const size_t at = name.find("python3.");
  if (at == name.npos) return std::nullopt;
  PythonVersion version{3, 0};
  const char* digits = name.data() + at + std::strlen("python3.");
  const auto [end, error] = std::from_chars(digits, name.data() + name.size(), version.minor);
  if (error != std::errc() || end == digits) return std::nullopt;
  return version;
}

// Where an interpreter may be: its library before the program, which may only load it.
std::vector<const Mapping*> find_candidates(const std::vector<Mapping>& mappings, pid_t pid) {
  std::vector<const Mapping*> libraries, programs, found;
  std::error_code ignored;
  const std::string program = std::filesystem::read_symlink(proc_path(pid, "exe"), ignored);
  std::string last;
  for (const Mapping& mapping : mappings) {
    if (!mapping.is_file() || mapping.path == last) continue;
    last = mapping.path;
    if (file_name(mapping.path).starts_with("libpython")) {
      libraries.push_back(&mapping);
    } else if (mapping.path == program || program.starts_with(mapping.path + " (deleted)")) {
      programs.push_back(&mapping);
    }
  }
  found = libraries;
  found.insert(found.end(), programs.begin(), programs.end());
  return found;
}

// Alpine's and others' C library: structures of the interpreter that hold its types are laid out
// in another way.
bool uses_musl(const std::vector<Mapping>& mappings) {
  return std::any_of(mappings.begin(), mappings.end(), [](const Mapping& mapping) {
    const std::string_view name = file_name(mapping.path);
    return name.starts_with("ld-musl-") || name.starts_with("libc.musl-");
  });
}

struct Interpreter {
  uint64_t runtime = 0;
  uint64_t code_type = 0;
  PythonVersion version;
  std::string path;
};

// Py_Version, from 3.11 on: 0x030b07f0.
std::optional<PythonVersion> read_version(const ElfSymbols& elf) {
  const auto symbol = elf.find("Py_Version");
  if (!symbol) return std::nullopt;
  const auto bytes = elf.bytes_at(*symbol, sizeof(uint32_t));
  if (bytes.empty()) return std::nullopt;
  uint32_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof(number));
  return PythonVersion{static_cast<int>(number >> 24), static_cast<int>(number >> 16 & 0xff)};
}

Result<Interpreter> look_into(pid_t pid, const Mapping& mapping) {
  Result<ElfSymbols> elf = ElfSymbols::open(path_from_outside(pid, mapping.path));
  if (!elf) elf = ElfSymbols::open(proc_path(pid, "exe"));  // replaced on disk since it started
  if (!elf) return elf.status();
  const auto runtime = elf->find("_PyRuntime");
  const auto bias = elf->load_bias(mapping.begin, mapping.file_offset);
  if (!runtime || !bias) return Status::error("not a Python program");
  auto version = read_version(*elf);
  if (!version) version = version_in_name(file_name(mapping.path));
  if (!version) return Status::error("a Python of unknown version");
  const auto code_type = elf->find("PyCode_Type");
  return Interpreter{*bias + *runtime, code_type ? *bias + *code_type : 0, *version, mapping.path};
}

Result<PythonLayout> layout_of(const Interpreter& interpreter, const ProcessMemory& memory) {
  if (interpreter.version < PythonVersion{3, 13}) {
    const PythonLayout* layout = find_layout(interpreter.version);
    if (layout != nullptr) return *layout;
    return Status::error(explain_unknown(interpreter.version));
  }
  std::array<uint8_t, kDebugOffsetsBytes> bytes;
  if (!memory.read(interpreter.runtime, bytes)) return Status::error("it has ended");
  return read_debug_offsets(interpreter.version, bytes);
}

}  // namespace

Result<PythonProcess> PythonProcess::find(pid_t pid) {
  const uint64_t start_ticks = read_process_stat(std::to_string(pid)).start_ticks;
  if (start_ticks == 0) {
    return Status::error("process " + std::to_string(pid) + ": there is no such process");
  }
  const std::string who = describe(pid);
  const std::vector<Mapping> mappings = read_process_maps(pid);
  if (mappings.empty()) {
    const char state = read_process_stat(std::to_string(pid)).state;
    if (state == 'Z' || state == 'X' || state == 0) return Status::error(who + ": it has ended");
    const auto memory = ProcessMemory::open(pid, 0);
    return memory ? Status::error(who + ": not a Python program") : memory.status();
  }
  Status fault = Status::error("not a Python program");
  for (const Mapping* candidate : find_candidates(mappings, pid)) {
    const auto interpreter = look_into(pid, *candidate);
    if (!interpreter) {
      fault = interpreter.status();
      continue;
    }
    if (uses_musl(mappings)) {
      return Status::error(who +
                           ": a Python built for musl (Alpine), which can not be sampled; use an "
                           "image with glibc, such as python:3.12-slim");
    }
    auto memory = ProcessMemory::open(pid, interpreter->runtime);
    if (!memory) return memory.status();
    const auto layout = layout_of(*interpreter, *memory);
    if (!layout) return Status::error(who + ": " + layout.status().message());
    PythonProcess process(*std::move(memory), *layout);
    process.runtime_ = interpreter->runtime;
    process.code_type_ = interpreter->code_type;
    process.binary_ = interpreter->path;
    process.start_ticks_ = start_ticks;
    return process;
  }
  return Status::error(who + ": " + fault.message());
}

bool PythonProcess::is_there() const {
  const ProcessStat stat = read_process_stat(std::to_string(pid()));
  return stat.start_ticks == start_ticks_ && stat.state != 'Z' && stat.state != 'X';
}

std::string read_command_line(pid_t pid) {
  std::string text = read_text(proc_path(pid, "cmdline"));
  while (!text.empty() && text.back() == '\0') text.pop_back();
  if (text.empty()) {
    text = read_text(proc_path(pid, "comm"));
    while (!text.empty() && text.back() == '\n') text.pop_back();
  }
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  if (text.size() > kMaxCommandLine) text.resize(kMaxCommandLine);
  return text;
}

std::vector<pid_t> find_descendants(pid_t pid) {
  std::vector<pid_t> found = {pid};
  for (size_t i = 0; i < found.size(); ++i) {
    std::error_code error;
    const std::filesystem::directory_iterator tasks(proc_path(found[i], "task"), error);
    if (error) continue;
    for (auto task = begin(tasks); task != end(tasks); task.increment(error)) {
      if (error) break;
      const std::string children = read_text(task->path() / "children");
      for (const char *at = children.data(), *end = at + children.size(); at < end;) {
        pid_t child = 0;
        const auto [next, fault] = std::from_chars(at, end, child);
        if (fault == std::errc()) found.push_back(child);
        at = next == at ? at + 1 : next;
      }
    }
  }
  found.erase(found.begin());
  return found;
}

}  // namespace stepscope::sample
