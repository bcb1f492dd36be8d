// RecordOutput: where `stepscope record` puts what it samples: a run's folder, a .sscope file, or a
// file of any export format, which is made of a recording beside it when sampling has ended.
//
//   auto output = RecordOutput::plan("flame.svg", pids, false);
//   if (Status status = output->prepare(); !status) ...    // it can not be written
//   ... sample into output->recording_path() ...
//   Status status = output->write(trace, {});              // or discard()
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/status.h"
#include "export/export.h"

namespace stepscope::cli {

// What is sampled, for names.
struct RecordedProcesses {
  std::vector<pid_t> pids;
  bool with_children = false;
};

class RecordOutput {
 public:
  // `path` as the user gave it; "" is a new folder in outputs/profiler_results. Fails where a name
  // tells neither a format nor a folder.
  static Result<RecordOutput> plan(const std::string& path, const RecordedProcesses& processes,
                                   bool overwrite);

  // Makes the folder, or sees that the file can be written. Nothing is lost when it fails.
  Status prepare();
  // Where the sampler writes.
  const std::string& recording_path() const { return recording_path_; }
  // What is left of it for the user: a folder or a file.
  const std::string& path() const { return path_; }
  // Whether path() is made of the recording, which is then of no use any more.
  bool is_export() const { return format_ != nullptr; }
  // The export. The recording stays where that fails.
  Result<std::vector<std::string>> write(const Trace& trace, const ExportOptions& options);
  // Removes what was made: there is nothing in it.
  void discard();

 private:
  RecordOutput() = default;

  std::string path_;
  std::string recording_path_;
  const ExportFormat* format_ = nullptr;  // none for a recording itself
  bool is_folder_ = false;
  bool is_new_folder_ = false;
  bool overwrite_ = false;
};

}  // namespace stepscope::cli
