#include "format/recording_metadata.h"

#include <unistd.h>

#include <array>
#include <fstream>
#include <random>
#include <vector>

namespace stepscope::format {

std::string read_boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::string read_host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

uint64_t make_file_id() {
  std::random_device random;
  return uint64_t{random()} << 32 | random() | 1;
}

Status write_metadata(BlockWriter& writer, std::span<const MetadataText> entries, uint8_t flags) {
  if (entries.empty()) return {};
  std::vector<std::string_view> keys, values;
  for (const auto& [key, value] : entries) {
    keys.push_back(key);
    values.push_back(value);
  }
  const std::vector<uint8_t> flags_of_all(entries.size(), flags);
  BlockBuilder block(BlockType::kMetadata, static_cast<uint32_t>(entries.size()));
  block.add_text(Column::kKeyText, keys).add_text(Column::kValueText, values);
  block.add<uint8_t>(Column::kFlags, flags_of_all);
  return writer.write(block);
}

Status write_clock(BlockWriter& writer, const ClockReading& reading, uint64_t ticks_per_second) {
  BlockBuilder block(BlockType::kClock, 1);
  block.add_one<uint64_t>(Column::kTicks, reading.ticks)
      .add_one<int64_t>(Column::kMonotonicNs, reading.monotonic_ns)
      .add_one<int64_t>(Column::kRealtimeNs, reading.realtime_ns)
      .add_one<int64_t>(Column::kErrorNs, reading.error_ns)
      .add_one<uint64_t>(Column::kTicksPerSecond, ticks_per_second);
  return writer.write(block);
}

}  // namespace stepscope::format
