#include "collect/system/proc_text.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/number_words.h"

namespace stepscope {
namespace {

std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

bool take_prefix(std::string_view& line, std::string_view prefix) {
  if (!line.starts_with(prefix)) return false;
  line.remove_prefix(prefix.size());
  return true;
}

// "user nice system idle iowait irq softirq steal guest guest_nice"; guests are in user and nice.
// Old kernels have fewer.
bool parse_core(std::string_view line, CoreTicks& core) {
  std::array<uint64_t, 8> ticks{};
  NumberWords numbers(line);
  size_t count = 0;
  while (count < ticks.size() && numbers.next(ticks[count])) ++count;
  if (count < 4) return false;
  core.busy = ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6];
  core.idle = ticks[3];
  core.iowait = ticks[4];
  core.steal = ticks[7];
  return true;
}

}  // namespace

bool parse_machine_stat(std::string_view text, MachineStat& stat, std::span<CoreTicks> cores) {
  bool has_total = false;
  while (!text.empty()) {
    // The line of interrupts may be long, and its end missing: looked at no further than needed.
    std::string_view line = take_line(text);
    uint64_t number = 0;
    if (take_prefix(line, "cpu")) {
      if (line.starts_with(' ')) {
        has_total = parse_core(line, stat.all);
        continue;
      }
      const size_t end = std::min(line.find(' '), line.size());
      if (!NumberWords(line.substr(0, end)).next(number)) continue;
      CoreTicks core;
      if (!parse_core(line.substr(end), core)) continue;
      ++stat.core_lines;
      if (number < cores.size()) cores[number] = core;
    } else if (take_prefix(line, "processes ")) {
      if (NumberWords(line).next(number)) stat.forks = number;
    } else if (take_prefix(line, "procs_running ")) {
      if (NumberWords(line).next(number)) {
        stat.running_tasks = static_cast<int64_t>(std::min<uint64_t>(number, 1u << 30));
      }
    }
  }
  return has_total;
}

bool parse_process_io(std::string_view text, ProcessIo& io) {
  bool has_read = false, has_written = false;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (take_prefix(line, "read_bytes:")) has_read = NumberWords(line).next(io.read_bytes);
    if (take_prefix(line, "write_bytes:")) has_written = NumberWords(line).next(io.written_bytes);
  }
  return has_read && has_written;
}

bool leads_out_of_machine(std::string_view name) {
  static constexpr std::array<std::string_view, 13> kInner = {
      "veth",  "docker", "br-",   "virbr", "cni",  "flannel", "cali",
      "vxlan", "ifb",    "dummy", "bond",  "team", "tunl"};
  if (name.empty() || name == "lo") return false;
  if (name.find('.') != std::string_view::npos) return false;  // a VLAN: eth0.100
  return std::none_of(kInner.begin(), kInner.end(),
                      [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool parse_net_dev(std::string_view text, NetworkBytes& bytes) {
  bool has_lines = false;
  bytes = {};
  while (!text.empty()) {
    std::string_view line = take_line(text);
    const size_t colon = line.rfind(':');  // "eth0:1" is a name
    if (colon == std::string_view::npos) continue;
    const size_t first = std::min(line.find_first_not_of(' '), colon);
    uint64_t received = 0, sent = 0;
    NumberWords numbers(line.substr(colon + 1));
    if (!numbers.next(received) || !numbers.skip(7) || !numbers.next(sent)) continue;
    has_lines = true;
    if (!leads_out_of_machine(line.substr(first, colon - first))) continue;
    bytes.received += received;
    bytes.sent += sent;
  }
  return has_lines;
}

bool parse_schedstat(std::string_view text, ThreadTimes& times) {
  NumberWords numbers(text);
  return numbers.next(times.running_ns) && numbers.next(times.queued_ns);
}

void parse_pids(std::string_view text, std::vector<int32_t>& pids) {
  NumberWords numbers(text);
  uint64_t pid = 0;
  while (numbers.next(pid)) {
    if (pid > 0 && pid <= std::numeric_limits<int32_t>::max()) {
      pids.push_back(static_cast<int32_t>(pid));
    }
  }
}

}  // namespace stepscope
