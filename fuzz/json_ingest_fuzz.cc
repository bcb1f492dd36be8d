// Arbitrary bytes as a trace file of any text format: loaded in small chunks on one thread, then
// every column is read. The same bytes in one large chunk must give as many slices, counters and
// arrows: where a file is cut must not matter. One input in 64 is read by two threads as well.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "ingest/load.h"
#include "read_trace.h"
#include "trace/trace.h"

namespace {

using namespace stepscope;

// What must not depend on where a good file is cut. Damaged events are given up sooner or later by
// where the pieces end, so files with faults are only compared with themselves.
void check_same(const Trace& a, const Trace& b) {
  if (a.stats().has_faults() || b.stats().has_faults()) return;
  CHECK(a.slices().size() == b.slices().size(), "cuts change no slice");
  CHECK(a.tracks().size() == b.tracks().size(), "cuts change no track");
  CHECK(a.counters().value == b.counters().value, "cuts change no counter");
  CHECK(a.flows().id == b.flows().id, "cuts change no arrow");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto small = load_bytes(bytes, "fuzz", {.threads = 1, .chunk_bytes = 64});
  const auto large = load_bytes(bytes, "fuzz", {.threads = 1, .chunk_bytes = size_t{16} << 10});
  if (small) fuzz::read_all(*small);
  if (large) fuzz::read_all(*large);
  if (small && large) check_same(*small, *large);
  if (size > 0 && data[size - 1] % 64 == 0) {
    const auto threaded = load_bytes(bytes, "fuzz", {.threads = 2, .chunk_bytes = 64});
    CHECK(threaded.ok() == small.ok(), "threads change nothing");
    if (threaded) check_same(*threaded, *small);
  }
  return 0;
}
