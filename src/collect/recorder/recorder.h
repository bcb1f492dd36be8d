// Recorder: the one flight recorder of a process, under every collector. Threads append records to
// chunks of their own (thread_slot.h); the drain (live_recording.h) seals full chunks in the
// .sscope file.
//
//   Status status = Recorder::start({.folder = "outputs/profiler_results"});
//   const uint32_t label = Recorder::definitions().label("forward", "", 0);
//   append_record(RecordKind::kBegin, label);
//   append_record(RecordKind::kEnd, label + 1);
//   status = Recorder::stop();
//
// A record never blocks: where no chunk is free it is dropped, and counted for its thread. A forked
// child gets a recording of its own, in the same folder, with its first record or name. A program
// that ends without stop() leaves everything that it recorded in the pool file, for the reader to
// find.
//
// start() and stop() may be called from any thread, but not from two at once.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "collect/recorder/definitions.h"
#include "collect/recorder/thread_slot.h"

namespace stepscope {

struct RecorderOptions {
  std::string folder;  // of the run; made where it is missing
  // The most that the pool may take, in memory and on disk. Records beyond it are dropped.
  uint64_t max_pool_bytes = uint64_t{128} << 20;
  uint64_t first_pool_bytes = uint64_t{16} << 20;
  // A ring: the files of this process together stay below this, the newest are kept. 0: no limit.
  uint64_t max_file_bytes = 0;
  // A new file each time that one has this size. 0: one file, or what the ring asks for.
  uint64_t rotate_bytes = 0;
  bool system_counters = true;  // CPU, memory, disk and network use, ten times a second
  bool follow_forks = true;
  // What the trace shall say of itself, by key.
  std::vector<std::pair<std::string, std::string>> metadata;
};

class Recorder {
 public:
  Recorder() = delete;

  // Fails where the folder can not be written, or where there is a recording already.
  static Status start(const RecorderOptions& options);
  // Writes what is left and closes the file. Fails where that was not possible: the records are
  // then in the pool file. Fine where there is no recording.
  static Status stop();
  static bool is_recording();

  // For the life of the process.
  static Definitions& definitions();
  // Path of the file that is being written; empty where none is.
  static std::string path();

  // The calling thread's name, in place of the system's, which is cut at 15 bytes.
  static void set_thread_name(std::string_view name);
};

}  // namespace stepscope
