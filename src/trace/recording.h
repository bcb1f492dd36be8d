// Recording: the files of one recorded process, open for reading: its .sscope files in order, and,
// where it was not closed, what its pool holds (docs/format.md, "A recording", "The pool"). A
// converted trace opens as well: one file and no pool.
//
//   auto recording = Recording::open({"run/1234.sscope"}, Recording::Scope::kFile, {});
//   if (!recording) return recording.status();
//   const std::vector<BlockSource> sources = recording->sources();
//
// The program may go on all the while: the pool is copied first, and the files are opened after it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/status.h"
#include "format/block_reader.h"
#include "format/pool_reader.h"
#include "trace/trace_loader.h"

namespace stepscope {

// What a .sscope file says of the recording that it is a part of.
struct RecordingInfo {
  uint64_t file_id = 0;  // 0: it is no recording
  uint32_t segment = 0;
  std::string boot_id;
  std::string pool_path;
  bool is_closed = false;
  std::string sampler;           // who wrote it, where it was a sampler; see recording_metadata.h
  std::string rank;              // of the process in its job; "" where nobody told it
  bool is_beside_calls = false;  // a sampler's, of a program whose calls are recorded
  bool is_sampler() const { return !sampler.empty(); }
};
RecordingInfo read_recording_info(const format::BlockReader& reader);

class Recording {
 public:
  enum class Scope : uint8_t {
    kFile,  // the one file that was named
    kAll,   // all files of the recording, also those that begin while it is opened
  };
  enum class State : uint8_t {
    kNoRecording,
    kClosed,
    kPart,  // a file that another one follows
    kRunning,
    kEnded,  // not closed; the pool has the rest
    kPoolMissing,
    kSamplerKilled,  // not closed, and the sampler is gone; there is no pool
  };
  static constexpr size_t kStateCount = 7;

  // Fails where none of the files can be read. A file that a ring removes meanwhile is left out.
  static Result<Recording> open(std::vector<std::string> paths, Scope scope,
                                format::ReaderOptions options);

  State state() const { return state_; }
  const RecordingInfo& info() const { return files_.back().info; }  // of the last file
  // Older files are not there: a ring has removed them, or only one was named.
  bool begins_late() const { return files_.front().info.segment > 0; }
  uint64_t bytes() const;
  // Of all files and the pool. Borrows them.
  std::vector<BlockSource> sources(const std::string& note_prefix) const;
  const std::optional<format::PoolContents>& pool() const { return pool_; }
  // What could not be read, and why.
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  struct File {
    std::string path;
    MappedFile mapping;
    format::BlockReader reader;
    RecordingInfo info;
  };

  Recording() = default;
  Status open_files(const std::vector<std::string>& paths, Scope scope,
                    format::ReaderOptions options);
  void read_pool(const std::string& path);
  void find_pool();

  State state_ = State::kNoRecording;
  std::vector<File> files_;  // at least one; by segment
  std::optional<format::PoolContents> pool_;
  std::optional<format::BlockReader> pool_reader_;
  std::vector<std::string> faults_;
};

// A run's recordings: for each the paths of its .sscope files. Fails where the folder can not be
// read.
Result<std::vector<std::vector<std::string>>> find_recordings(const std::string& folder);
// Whether the folder holds at least one recording.
bool is_run_folder(const std::string& path);
// How many ranks of a job the folder's recordings are of, as they tell. 0 where it is no run.
size_t count_ranks(const std::string& folder);

// Whether a file has only samples of programs that others of its folder are recordings of.
bool is_beside_calls(const std::string& path);

}  // namespace stepscope
