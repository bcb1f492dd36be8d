#include "collect/sample/process_maps.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/mapped_file.h"

namespace stepscope::sample {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

// Takes the text up to `separator`, and that too.
std::string_view take(std::string_view& text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

bool parse_hex(std::string_view text, uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc() && end == text.data() + text.size();
}

// "7f1c-7f2e r-xp 00002000 fe:00 1234   /usr/lib/libpython3.11.so.1.0"
bool parse_line(std::string_view line, Mapping& mapping) {
  const bool has_range =
      parse_hex(take(line, '-'), mapping.begin) && parse_hex(take(line, ' '), mapping.end);
  const std::string_view rights = take(line, ' ');
  if (!has_range || rights.size() < 4 || !parse_hex(take(line, ' '), mapping.file_offset)) {
    return false;
  }
  mapping.is_writable = rights[1] == 'w';
  mapping.is_executable = rights[2] == 'x';
  take(line, ' ');  // device
  take(line, ' ');  // inode
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  if (line.ends_with(kDeleted)) line.remove_suffix(kDeleted.size());
  mapping.path = line;
  return mapping.begin < mapping.end;
}

}  // namespace

std::vector<Mapping> parse_process_maps(std::string_view text) {
  std::vector<Mapping> mappings;
  while (!text.empty()) {
    Mapping mapping;
    if (parse_line(take(text, '\n'), mapping)) mappings.push_back(std::move(mapping));
  }
  return mappings;
}

std::vector<Mapping> read_process_maps(pid_t pid) {
  const auto file = MappedFile::open("/proc/" + std::to_string(pid) + "/maps");
  if (!file) return {};
  const auto bytes = file->bytes();
  return parse_process_maps({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

const Mapping* find_mapping(const std::vector<Mapping>& mappings, uint64_t address) {
  const auto after = std::upper_bound(
      mappings.begin(), mappings.end(), address,
      [](uint64_t wanted, const Mapping& mapping) { return wanted < mapping.begin; });
  if (after == mappings.begin()) return nullptr;
  const Mapping& mapping = *(after - 1);
  return address < mapping.end ? &mapping : nullptr;
}

std::string path_from_outside(pid_t pid, const std::string& path) {
  const std::string root = "/proc/" + std::to_string(pid) + "/root";
  return ::access((root + path).c_str(), R_OK) == 0 ? root + path : path;
}

}  // namespace stepscope::sample
