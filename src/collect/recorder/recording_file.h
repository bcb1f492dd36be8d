// RecordingFile: the .sscope files of one process's recording, written by the drain thread alone. A
// recording may be cut into segments, each a whole file with all definitions; a ring removes the
// oldest ones (docs/format.md, "A recording").
//
//   auto file = RecordingFile::create(identity, limits, definitions);
//   status = file->write_definitions();
//   status = file->write_records(stretch);     // one thread's records, from one or more chunks
//   status = file->write_clock(reading);
//   status = file->close(notes);
//
// After an error (disk full) the file is whole up to there, and the same may be tried again.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/tick_clock.h"
#include "collect/recorder/definitions.h"
#include "collect/recorder/guarded_file.h"
#include "format/block_writer.h"

namespace stepscope {

struct RecordingIdentity {
  std::string folder;  // absolute
  int folder_descriptor = -1;
  bool files_are_private = false;  // see guarded_file.h
  uint64_t file_id = 0;
  int64_t pid = 0;
  std::string pool_path;
  uint64_t ticks_per_second = 0;
  std::vector<std::pair<std::string, std::string>> metadata;  // of the trace
};

struct RecordingLimits {
  uint64_t segment_bytes = 0;  // 0: one segment
  uint64_t total_bytes = 0;    // 0: no ring
};

// Records of one thread without a gap.
struct RecordStretch {
  uint32_t stream = 0;
  uint32_t track = 0;
  uint32_t context = 0;
  uint64_t first_tick = 0;
  uint64_t first_word = 0;
  uint64_t dropped = 0;  // right before it
  std::vector<std::span<const uint64_t>> words;
};

class RecordingFile {
 public:
  // Makes the folder's first free name of the pid: 1234.sscope, 1234-2.sscope, ...; stem() is that
  // name without the suffix. Nothing is written before open().
  static Result<std::unique_ptr<RecordingFile>> create(RecordingIdentity identity,
                                                       RecordingLimits limits,
                                                       Definitions& definitions);
  // Writes the beginning of the first segment.
  Status open(std::string pool_path, const ClockReading& now);

  const std::string& stem() const { return stem_; }
  std::string path() const;

  // All that the file lacks. Comes before the records that use them.
  Status write_definitions();
  Status write_records(const RecordStretch& stretch);
  Status write_clock(const ClockReading& reading);
  // The last block: the recording is whole.
  Status close(const std::vector<std::string>& notes);

 private:
  struct Segment {
    std::string name;
    uint64_t bytes = 0;
  };

  RecordingFile(RecordingIdentity identity, RecordingLimits limits, Definitions& definitions)
      : identity_(std::move(identity)), limits_(limits), definitions_(definitions) {}

  Status create_segment(const std::string& name);
  // Comes before everything else in a segment, also where the first try found the disk full.
  Status begin_segment();
  Status append_definitions();
  Status append_clock(const ClockReading& reading);
  Status rotate_if_full();
  void keep_ring(uint64_t next_bytes);
  Status write_process(uint32_t name);
  Status write(const format::BlockBuilder& block) { return writer_->write(block); }

  RecordingIdentity identity_;
  RecordingLimits limits_;
  Definitions& definitions_;
  std::string stem_;
  uint32_t segment_number_ = 0;
  std::unique_ptr<GuardedFile> sink_;
  std::unique_ptr<format::BlockWriter> writer_;
  uint32_t definitions_written_ = 0;    // in this segment
  bool is_begun_ = false;               // this segment's beginning is written
  std::deque<Segment> segments_;        // the current one last
  std::vector<ClockReading> readings_;  // the first and the last few
  std::vector<uint32_t> lower_, upper_;
};

}  // namespace stepscope
