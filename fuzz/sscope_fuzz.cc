// Arbitrary bytes as a .sscope file through the whole way into a Trace: load it, look at every
// value, save it, load that again; and once more block by block. Checksums are not checked, or
// nothing behind them would ever be reached. (block_reader_fuzz is about the container alone.)
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/byte_sink.h"
#include "base/check.h"
#include "trace/file_slice_stream.h"
#include "trace/nesting.h"
#include "trace/trace_file.h"

namespace {

using namespace stepscope;

// A few bytes may stand for millions of rows, which is right but slow.
const TraceReadOptions kOptions = {.verify_checksums = false, .max_rows = 60'000};

void check_slices(const Trace& trace) {
  const SliceColumns& slices = trace.slices();
  uint32_t row = 0;
  for (const Track& track : trace.tracks()) {
    CHECK(track.process < trace.processes().size(), "a track has a process");
    CHECK(track.first_slice == row, "tracks lie one after the other");
    for (; row < track.first_slice + track.slice_count; ++row) {
      CHECK(index(slices.label[row]) < trace.labels().size(), "a slice has a label");
      CHECK(slices.dur_ns[row] >= 0, "durations are not negative");
      const SliceId parent = slices.parent[row];
      if (parent == kNoSlice) continue;
      CHECK(index(parent) < row && index(parent) >= track.first_slice, "parents come first");
      CHECK(Nesting::holds(slices.end_ns(index(parent)), slices.start_ns[row], slices.end_ns(row)),
            "a parent holds its children");
    }
  }
  CHECK(row == slices.size(), "every slice is on a track");
  for (const ArgColumn& column : trace.args()) {
    for (size_t i = 0; i < column.rows.size(); ++i) {
      CHECK(index(column.rows[i]) < slices.size(), "an argument has a slice");
      CHECK(i == 0 || column.rows[i - 1] < column.rows[i], "arguments are in order");
      const bool is_text = column.type == ArgType::kString || column.type == ArgType::kJson;
      CHECK(!is_text || index(column.string(i)) < trace.strings().size(), "a text is a string");
    }
    CHECK(column.rows.size() ==
              (column.type == ArgType::kDouble ? column.doubles.size() : column.ints.size()),
          "as many values as rows");
  }
}

void check_rest(const Trace& trace) {
  const auto has_string = [&](StringId id) { return index(id) < trace.strings().size(); };
  for (const Label& label : trace.labels().all()) {
    CHECK(has_string(label.name) && has_string(label.category), "labels have names");
    CHECK(!kind_name(label.kind).empty(), "labels have a kind");
  }
  for (const Process& process : trace.processes()) {
    CHECK(has_string(process.name) && has_string(process.labels), "processes have names");
  }
  for (const Track& track : trace.tracks()) {
    CHECK(has_string(track.name) && has_string(track.series), "tracks have names");
    CHECK(!track_kind_name(track.kind).empty(), "tracks have a kind");
  }
  const FlowColumns& flows = trace.flows();
  for (size_t i = 0; i < flows.from.size(); ++i) {
    CHECK(index(flows.from[i]) < trace.slices().size(), "an arrow leaves a slice");
    CHECK(index(flows.to[i]) < trace.slices().size(), "an arrow meets a slice");
    CHECK(index(flows.label[i]) < trace.labels().size(), "an arrow has a label");
  }
  for (size_t i = 0; i < trace.stacks().size(); ++i) {
    const StackNode& node = trace.stacks()[i];
    CHECK(node.parent == kNoStack || index(node.parent) < i, "callers come first");
    CHECK(node.frame == kNoFrame || index(node.frame) < trace.frames().size(), "known frames");
  }
  for (const StackId stack : trace.samples().stack) {
    CHECK(stack == kNoStack || index(stack) < trace.stacks().size(), "known stacks");
  }
  for (const TrackId track : trace.samples().track) {
    CHECK(index(track) < trace.tracks().size(), "samples are on tracks");
  }
  for (const SliceId slice : trace.allocations().slice) {
    CHECK(slice == kNoSlice || index(slice) < trace.slices().size(), "known slices");
  }
  CHECK(trace.begin_ns() <= trace.end_ns(), "time goes forward");
}

void stream(std::span<const uint8_t> file) {
  auto slices = FileSliceStream::open(file, "fuzz", kOptions);
  if (!slices) return;
  SliceBlock block;
  int64_t sum = 0;
  for (uint64_t rows = 0; rows < 200'000;) {
    const auto more = (*slices)->next(block);
    if (!more || !*more) break;
    rows += block.size();
    CHECK(index(block.track) < (*slices)->tracks().size(), "a block has a track");
    for (size_t i = 0; i < block.size(); ++i) {
      CHECK(index(block.label[i]) < (*slices)->labels().size(), "a slice has a label");
      sum ^= block.start_ns[i] + block.dur_ns(i);
    }
  }
  volatile int64_t sink = sum;
  (void)sink;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span file(data, size);
  stream(file);
  const auto trace = load_trace(file, "fuzz", kOptions);
  if (!trace) return 0;
  check_slices(*trace);
  check_rest(*trace);
  if (size % 8 != 0) return 0;  // saving takes most of the time: only now and then
  MemorySink sink;
  CHECK(save_trace(*trace, sink, {.zstd_level = 1}).ok(), "memory takes every trace");
  const auto again = load_trace(sink.bytes(), "again");
  CHECK(again.ok(), "what was saved loads");
  CHECK(again->slices().start_ns == trace->slices().start_ns, "slices stay");
  CHECK(again->slices().parent == trace->slices().parent, "nesting stays");
  CHECK(again->args().size() == trace->args().size(), "arguments stay");
  CHECK(again->flows().from == trace->flows().from, "arrows stay");
  CHECK(again->allocations().slice == trace->allocations().slice, "allocations stay");
  CHECK(!again->stats().get(Stat::kBlocksDamaged) || trace->stats().get(Stat::kBlocksDamaged),
        "a saved file is sound");
  return 0;
}
