#include "collect/system/proc_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace stepscope {
namespace {

// The words of a text one by one, as numbers.
class Numbers {
 public:
  explicit Numbers(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}

  // False at the end, and where the next word is no number; a negative one is read as 0.
  bool next(uint64_t& number) {
    skip_spaces();
    const bool is_negative = at_ < end_ && *at_ == '-';
    if (is_negative) ++at_;
    const auto [after, error] = std::from_chars(at_, end_, number);
    if (error != std::errc()) return false;
    if (is_negative) number = 0;
    at_ = after;
    return at_ == end_ || *at_ == ' ' || *at_ == '\n';
  }

  bool skip(int words) {
    for (; words > 0; --words) {
      skip_spaces();
      if (at_ == end_) return false;
      while (at_ < end_ && *at_ != ' ' && *at_ != '\n') ++at_;
    }
    return true;
  }

 private:
  void skip_spaces() {
    while (at_ < end_ && *at_ == ' ') ++at_;
  }

  const char* at_;
  const char* end_;
};

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
  Numbers numbers(line);
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

bool parse_process_stat(std::string_view text, ProcessStat& stat) {
  // The name, in parentheses, may hold spaces, parentheses and line ends; nothing after it does.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return false;
  Numbers numbers(text.substr(name_end + 1));
  uint64_t parent = 0;
  // Fields count from 1; the first one here, the state, is the third.
  const bool is_whole = numbers.skip(1) && numbers.next(parent) &&  // 4
                        numbers.skip(5) && numbers.next(stat.minor_faults) &&
                        numbers.next(stat.reaped_minor_faults) && numbers.next(stat.major_faults) &&
                        numbers.next(stat.reaped_major_faults) && numbers.next(stat.user_ticks) &&
                        numbers.next(stat.system_ticks) && numbers.next(stat.reaped_user_ticks) &&
                        numbers.next(stat.reaped_system_ticks) &&  // 17
                        numbers.skip(4) && numbers.next(stat.start_ticks) && numbers.skip(1) &&
                        numbers.next(stat.resident_pages);  // 24
  if (!is_whole || parent > std::numeric_limits<int32_t>::max()) return false;
  stat.parent = static_cast<int32_t>(parent);
  if (!numbers.skip(17) || !numbers.next(stat.block_io_ticks)) stat.block_io_ticks = 0;  // 42
  return true;
}

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
      if (!Numbers(line.substr(0, end)).next(number)) continue;
      CoreTicks core;
      if (!parse_core(line.substr(end), core)) continue;
      ++stat.core_lines;
      if (number < cores.size()) cores[number] = core;
    } else if (take_prefix(line, "processes ")) {
      if (Numbers(line).next(number)) stat.forks = number;
    } else if (take_prefix(line, "procs_running ")) {
      if (Numbers(line).next(number)) {
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
    if (take_prefix(line, "read_bytes:")) has_read = Numbers(line).next(io.read_bytes);
    if (take_prefix(line, "write_bytes:")) has_written = Numbers(line).next(io.written_bytes);
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
    Numbers numbers(line.substr(colon + 1));
    if (!numbers.next(received) || !numbers.skip(7) || !numbers.next(sent)) continue;
    has_lines = true;
    if (!leads_out_of_machine(line.substr(first, colon - first))) continue;
    bytes.received += received;
    bytes.sent += sent;
  }
  return has_lines;
}

void parse_pids(std::string_view text, std::vector<int32_t>& pids) {
  Numbers numbers(text);
  uint64_t pid = 0;
  while (numbers.next(pid)) {
    if (pid > 0 && pid <= std::numeric_limits<int32_t>::max()) {
      pids.push_back(static_cast<int32_t>(pid));
    }
  }
}

}  // namespace stepscope
