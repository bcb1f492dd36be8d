// Arbitrary bytes as the pool of a recording: its blocks must be sound whatever the pool holds, and
// load. A pool is half a megabyte of mostly zeros, which no fuzzer would guess: the input is a list
// of pieces, each put at its place into an empty pool.
//
//   input = (place u8, offset u8, length u8, bytes)…     place 0: header, 1, 2: journals, 3..:
//   chunks
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "format/block_reader.h"
#include "format/pool_layout.h"
#include "format/pool_reader.h"
#include "trace/trace_file.h"

namespace {

using namespace stepscope;
using namespace stepscope::format;

constexpr uint32_t kChunksInPool = 8;

uint64_t offset_of(uint8_t place) {
  if (place == 0) return 0;
  if (place <= kJournals) return kPoolHeaderBytes + uint64_t{place - 1u} * kJournalBytes;
  return kChunksOffset + uint64_t{(place - 1u - kJournals) % kChunksInPool} * kChunkBytes;
}

std::vector<uint8_t> unfold(std::span<const uint8_t> input) {
  std::vector<uint8_t> pool(kChunksOffset + kChunksInPool * kChunkBytes);
  std::copy(kPoolMagic.begin(), kPoolMagic.end(), pool.begin());
  store_le(pool.data() + offsetof(PoolHeader, version), kPoolVersion);
  store_le(pool.data() + offsetof(PoolHeader, journal_bytes), kJournalBytes);
  store_le(pool.data() + offsetof(PoolHeader, chunk_bytes), kChunkBytes);
  store_le(pool.data() + offsetof(PoolHeader, chunk_count), kChunksInPool);
  ByteReader in(input);
  while (in.remaining() > 0) {
    const auto place = in.read<uint8_t>();
    const auto offset = in.read<uint8_t>();
    const auto bytes = in.take(std::min<uint64_t>(in.read<uint8_t>(), in.remaining()));
    std::copy(bytes.begin(), bytes.end(),
              pool.begin() + static_cast<ptrdiff_t>(offset_of(place) + offset));
  }
  return pool;
}

void read(std::span<const uint8_t> pool) {
  const auto contents = read_pool(pool, "fuzz");
  if (!contents) return;
  const auto reader = BlockReader::open(contents->blocks);
  CHECK(reader.ok(), "a pool's blocks are a file");
  reader->verify_all();
  CHECK(reader->report().is_clean(), "and a sound one");
  const auto trace = load_trace(contents->blocks, "fuzz", {.max_rows = 60'000});
  CHECK(trace.ok(), "which loads");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  read({data, size});
  read(unfold({data, size}));
  return 0;
}
