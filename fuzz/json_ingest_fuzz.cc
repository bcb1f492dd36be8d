// Arbitrary bytes as a trace file of any text format: loaded in small chunks on one thread, then
// every column is read. The same bytes in one large chunk must give as many slices, counters and
// arrows: where a file is cut must not matter. One input in 64 is read by two threads as well.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "ingest/load.h"
#include "trace/trace.h"

namespace {

using namespace stepscope;

volatile uint64_t g_sink = 0;

void touch(uint64_t value) { g_sink = g_sink + value; }

void read_all(const Trace& trace) {
  const SliceColumns& slices = trace.slices();
  CHECK(slices.parent.size() == slices.size() && slices.depth.size() == slices.size() &&
            slices.label.size() == slices.size() && slices.dur_ns.size() == slices.size(),
        "columns have one length");
  uint64_t in_tracks = 0;
  uint64_t values_in_tracks = 0;
  for (const Track& track : trace.tracks()) {
    CHECK(track.process < trace.processes().size(), "a track has a process");
    CHECK(track.first_slice == in_tracks, "tracks lie next to each other");
    in_tracks += track.slice_count;
    values_in_tracks += track.value_count;
    touch(trace.string(track.name).size() + trace.string(track.series).size() +
          trace.string(track.tid.text).size());
    for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
      const SliceId parent = slices.parent[row];
      CHECK(slices.dur_ns[row] >= 0, "no slice ends before it starts");
      CHECK(parent == kNoSlice || (index(parent) >= track.first_slice && index(parent) < row),
            "a parent comes before its child, on the same track");
      CHECK(row == track.first_slice || slices.start_ns[row - 1] <= slices.start_ns[row],
            "slices are in order");
      CHECK(slices.start_ns[row] >= trace.begin_ns() && slices.end_ns(row) <= trace.end_ns(),
            "a slice lies in the trace");
      const Label& label = trace.labels()[slices.label[row]];
      touch(trace.string(label.name).size() + trace.string(label.category).size());
    }
  }
  CHECK(in_tracks == slices.size(), "every slice is on a track");
  CHECK(values_in_tracks == trace.counters().value.size(), "every value is on a track");
  for (const ArgColumn& column : trace.args()) {
    touch(trace.string(column.key).size());
    for (size_t i = 0; i < column.rows.size(); ++i) {
      CHECK(index(column.rows[i]) < slices.size(), "an argument has a slice");
      CHECK(i == 0 || column.rows[i - 1] < column.rows[i], "arguments are in order");
      if (column.type == ArgType::kString || column.type == ArgType::kJson) {
        touch(trace.string(column.string(i)).size());
      }
    }
  }
  const FlowColumns& flows = trace.flows();
  for (size_t i = 0; i < flows.id.size(); ++i) {
    CHECK(index(flows.from[i]) < slices.size() && index(flows.to[i]) < slices.size(),
          "an arrow has two slices");
  }
  const AllocationColumns& allocations = trace.allocations();
  for (size_t i = 0; i < allocations.time_ns.size(); ++i) {
    const SliceId slice = allocations.slice[i];
    CHECK(slice == kNoSlice || index(slice) < slices.size(), "an allocation has a slice or none");
  }
  for (const MetadataEntry& entry : trace.metadata()) touch(trace.string(entry.value).size());
  for (const Process& process : trace.processes()) touch(trace.string(process.name).size());
}

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
  if (small) read_all(*small);
  if (large) read_all(*large);
  if (small && large) check_same(*small, *large);
  if (size > 0 && data[size - 1] % 64 == 0) {
    const auto threaded = load_bytes(bytes, "fuzz", {.threads = 2, .chunk_bytes = 64});
    CHECK(threaded.ok() == small.ok(), "threads change nothing");
    if (threaded) check_same(*threaded, *small);
  }
  return 0;
}
