#include "base/process_stat.h"

#include <limits>
#include <span>

#include "base/mapped_file.h"
#include "base/number_words.h"

namespace stepscope {

bool parse_process_stat(std::string_view text, ProcessStat& stat) {
  // The name, in parentheses, may hold spaces, parentheses and line ends; nothing after it does.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return false;
  const std::string_view rest = text.substr(name_end + 1);
  const size_t state_at = rest.find_first_not_of(' ');
  if (state_at == std::string_view::npos) return false;
  NumberWords numbers(rest);
  uint64_t parent = 0;
  // Fields count from 1; the first one here, the state, is the third.
  const bool is_whole = numbers.skip(1) && numbers.next(parent) &&  // 4
                        numbers.skip(5) && numbers.next(stat.minor_faults) &&
                        numbers.next(stat.reaped_minor_faults) && numbers.next(stat.major_faults) &&
                        numbers.next(stat.reaped_major_faults) && numbers.next(stat.user_ticks) &&
                        numbers.next(stat.system_ticks) && numbers.next(stat.reaped_user_ticks) &&
                        numbers.next(stat.reaped_system_ticks) &&  // 17
                        numbers.skip(2) && numbers.next(stat.threads) && numbers.skip(1) &&
                        numbers.next(stat.start_ticks) && numbers.skip(1) &&
                        numbers.next(stat.resident_pages);  // 24
  if (!is_whole || parent > std::numeric_limits<int32_t>::max()) return false;
  stat.state = rest[state_at];
  stat.parent = static_cast<int32_t>(parent);
  if (!numbers.skip(17) || !numbers.next(stat.block_io_ticks)) stat.block_io_ticks = 0;  // 42
  return true;
}

ProcessStat read_process_stat(const std::string& pid) {
  const Result<MappedFile> file = MappedFile::open("/proc/" + pid + "/stat");
  ProcessStat stat;
  if (!file) return stat;
  const std::span<const uint8_t> bytes = file->bytes();
  if (!parse_process_stat({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, stat)) {
    return {};
  }
  return stat;
}

}  // namespace stepscope
