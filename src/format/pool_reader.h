// read_pool(): what the pool of a recording (pool_layout.h) holds and the .sscope file may not hold
// yet, as the blocks that the drain would have written: a small .sscope file in memory, which is
// read like any other. Definitions come first, then the records, thread by thread.
//
//   auto pool = read_pool("run/1234.pool");
//   if (!pool) return pool.status();                  // no pool, or one of another version
//   auto reader = BlockReader::open(pool->blocks);
//
// The recording process may write all the while. Every chunk and journal is copied between two
// looks at its header, and left out where it changed its use meanwhile: its contents are in the
// .sscope file then. So the pool is read first, and the file opened afterwards. The pool is read
// and not mapped: a file that is cut while it is mapped would end the reader with a SIGBUS.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/process_stat.h"
#include "base/status.h"

namespace stepscope::format {

// A reader looks at no more chunks than these: 4 GiB, far above what recorders take.
inline constexpr uint32_t kMaxChunks = uint32_t{1} << 18;

struct PoolContents {
  uint64_t file_id = 0;  // of the .sscope file that it belongs to
  int64_t pid = 0;
  uint64_t start_time = 0;
  // That process was there while the pool was copied, if pid and start time are of this boot.
  bool is_running = false;
  uint64_t dropped = 0;  // records that no block and no chunk tells of
  std::vector<uint8_t> blocks;
  uint64_t words = 0;           // of records, in `blocks`
  uint64_t pieces_damaged = 0;  // chunks and journals that make no sense, or are not in the file
};

// Fails with "<path>: <why>" where there is no such file, or it is no regular file, or no pool.
// Damaged parts are counted and left out.
Result<PoolContents> read_pool(const std::string& path);
// The same from memory that nobody changes; `name` is for messages.
Result<PoolContents> read_pool(std::span<const uint8_t> file, const std::string& name);

// Whether that very process is there, and not only another one that got its pid. One that has ended
// and waits for its parent is not running.
bool is_running(int64_t pid, uint64_t start_time);
// The same from what the kernel says of it.
bool shows_running(const ProcessStat& stat, uint64_t start_time);

}  // namespace stepscope::format
