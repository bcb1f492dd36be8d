#include "cli/socket_names.h"

#include <arpa/inet.h>

#include <array>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

namespace stepscope::cli {
namespace {

constexpr size_t kLocal = 1, kRemote = 2, kState = 3, kTcpNumber = 9;  // fields of net/tcp
constexpr size_t kUnixNumber = 6, kUnixPath = 7;                       // and of net/unix
constexpr std::string_view kListening = "0A";
constexpr size_t kWordDigits = 8;

std::vector<std::string> split(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> fields;
  for (std::string field; stream >> field;) fields.push_back(std::move(field));
  return fields;
}

std::optional<uint32_t> parse_hex(std::string_view digits) {
  uint32_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

// "0100007F:1F90": words of the address as they lie in memory, and the port.
std::string address_text(std::string_view field) {
  const size_t colon = field.find(':');
  if (colon == field.npos) return "?";
  const std::string_view digits = field.substr(0, colon);
  const auto port = parse_hex(field.substr(colon + 1));
  std::array<uint32_t, 4> words{};
  const size_t count = digits.size() / kWordDigits;
  if (!port || (count != 1 && count != 4)) return "?";
  for (size_t i = 0; i < count; ++i) {
    const auto word = parse_hex(digits.substr(i * kWordDigits, kWordDigits));
    if (!word) return "?";
    words[i] = *word;
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = count == 1 ? AF_INET : AF_INET6;
  if (inet_ntop(family, words.data(), text.data(), text.size()) == nullptr) return "?";
  const std::string address = text.data();
  return (count == 1 ? address : "[" + address + "]") + ":" + std::to_string(*port);
}

// The fields of the line that has the number; none where there is none.
std::vector<std::string> find_line(pid_t pid, const char* table, size_t field, uint64_t number) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/net/" + table);
  const std::string wanted = std::to_string(number);
  std::string line;
  while (std::getline(file, line)) {
    if (line.find(wanted) == std::string::npos) continue;
    auto fields = split(line);
    if (fields.size() > field && fields[field] == wanted) return fields;
  }
  return {};
}

}  // namespace

std::string describe_socket(pid_t pid, uint64_t number) {
  for (const char* table : {"tcp", "tcp6", "udp", "udp6"}) {
    const auto fields = find_line(pid, table, kTcpNumber, number);
    if (fields.empty()) continue;
    const bool is_tcp = table[0] == 't';
    const std::string local = (is_tcp ? "TCP " : "UDP ") + address_text(fields[kLocal]);
    if (is_tcp && fields[kState] == kListening) return local + ", listening";
    return local + " to " + address_text(fields[kRemote]);
  }
  const auto fields = find_line(pid, "unix", kUnixNumber, number);
  if (fields.size() > kUnixPath) return "UNIX socket " + fields[kUnixPath];
  return "socket:[" + std::to_string(number) + "]";
}

}  // namespace stepscope::cli
