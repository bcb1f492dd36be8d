// Pool: the shared side file that chunks and journals lie in (format/pool_layout.h), created,
// mapped and grown. Only the drain thread opens files; other threads just use the memory.
//
//   auto pool = Pool::create(folder, "1234.pool", identity, limits);
//   ChunkHeader* chunk = pool->chunk(7);
//   status = pool->grow(128);                 // 128 more chunks, taken from the disk before use
//   pool->close(Pool::Keep::kNo);
//
// Disk space is allocated before it is mapped in, so that a full disk is an error here and never a
// SIGBUS in the program. The pages are touched at once: a first touch in the program would cost it
// more than a hundred records. They are not inherited by a forked child, whose writes would
// appear among the parent's records.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "format/pool_layout.h"

namespace stepscope {

struct PoolIdentity {
  uint64_t file_id = 0;
  int64_t pid = 0;
  uint64_t start_time = 0;
};

class Pool {
 public:
  // In `folder`, or, where that file system can not take it, in a local temporary folder. `name` is
  // replaced by a unique one where it exists. Room for `max_chunks` is reserved in the address
  // space.
  static Result<std::unique_ptr<Pool>> create(const std::string& folder, const std::string& name,
                                              const PoolIdentity& identity, uint32_t first_chunks,
                                              uint32_t max_chunks);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool();

  format::PoolHeader& header() const { return *reinterpret_cast<format::PoolHeader*>(memory_); }
  format::JournalHeader* journal(uint32_t number) const;
  format::ChunkHeader* chunk(uint32_t number) const;
  static uint64_t* words(format::ChunkHeader* chunk) {
    return reinterpret_cast<uint64_t*>(chunk + 1);
  }
  uint32_t chunk_count() const { return header().chunk_count.load(std::memory_order_relaxed); }
  uint32_t max_chunks() const { return max_chunks_; }
  const std::string& path() const { return path_; }

  // Takes disk space for that many more chunks, as far as the maximum; the result is how many there
  // are more. They are the caller's to hand out.
  Result<uint32_t> grow(uint32_t chunks);

  enum class Keep { kNo, kYes };
  // The memory stays where it is, backed by nothing, because a thread may be about to write one
  // last record. The file is removed but for kYes: records are left in it that no block has.
  void close(Keep keep);

 private:
  Pool() = default;
  Status open(const std::string& path);

  std::string path_;
  uint8_t* memory_ = nullptr;
  uint64_t mapped_bytes_ = 0;
  uint32_t max_chunks_ = 0;
  int file_ = -1;
};

}  // namespace stepscope
