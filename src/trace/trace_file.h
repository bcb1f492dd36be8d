// A trace as a .sscope file: everything that the model holds, without loss. docs/format.md
// describes the blocks; src/format reads and writes them; here they get their meaning.
//
//   Status saved = save_trace(trace, "run.sscope", {});
//   Result<Trace> trace = load_trace("run.sscope", {});
//   Result<Trace> run = load_run("runs/monday", {});
//
// Definitions (strings, labels, processes, tracks) come before the first block that uses them, and
// the arguments of slices right after these, so that every prefix of a file is a whole file and a
// file larger than memory can be read block by block (file_slice_stream.h). What follows from the
// rest is not stored: parent, depth and self time of a slice, the slice of an allocation.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/byte_sink.h"
#include "base/status.h"
#include "trace/trace.h"

namespace stepscope {

class TraceBuilder;

struct TraceWriteOptions {
  int zstd_level = 3;
  uint32_t rows_per_block = 1u << 16;
};

// Fails where the file can not be written; what was written then remains, a whole file up to there.
Status save_trace(const Trace& trace, const std::string& path,
                  const TraceWriteOptions& options = {});
Status save_trace(const Trace& trace, ByteSink& sink, const TraceWriteOptions& options = {});

struct TraceReadOptions {
  bool verify_checksums = true;  // off only in the fuzzer, which can not guess a CRC
  // A column of equal values takes no bytes, so that a small file may claim billions of rows. Above
  // this many rows the remaining blocks count as damaged. Not set: plenty for a file of its size.
  std::optional<uint64_t> max_rows;
  // Of load_run(): adds what the run's folder holds besides recordings, once these are in the
  // builder. Its time 0 is `clock_base_ns` after 1970.
  std::function<void(TraceBuilder& builder, int64_t clock_base_ns)> add_to_run;
};

// Fails only where this is no .sscope file at all. Damaged, torn or unknown blocks are counted in
// the stats, and the rest is loaded. An id that leads nowhere is counted too: its string becomes
// "?". Of a recording that was not closed, what its pool holds is loaded as well.
Result<Trace> load_trace(const std::string& path, const TraceReadOptions& options = {});
// The same from memory, where no pool can be found.
Result<Trace> load_trace(std::span<const uint8_t> file, std::string source,
                         const TraceReadOptions& options = {});

// All recordings in a run's folder (trace/recording.h) as one trace on one clock: a process each.
// Fails where there is none that can be read.
Result<Trace> load_run(const std::string& folder, const TraceReadOptions& options = {});

}  // namespace stepscope
