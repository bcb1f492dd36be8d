// Reads the ranks of a job: one worker per core takes one trace after the other, reduces it to its
// summary and frees it, so that memory depends on the number of workers and not on that of ranks.
//
//   const JobFiles files = find_job_files({"traces/"});
//   JobReading reading = read_job(files, {});
//   Job job = Job::build(std::move(reading.summaries), {});
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/rank_summary.h"

namespace stepscope::cli {

struct RankFile {
  std::string path;
  std::string source;     // what the user sees: the name in a folder, else the path as it was given
  bool is_named = false;  // by the user himself, not found in a folder
};

struct JobFiles {
  std::vector<RankFile> files;
  std::vector<std::string> faults;  // paths that stand for nothing: "<path>: <why>"
};

JobFiles find_job_files(const std::vector<std::string>& paths);

struct JobReading {
  std::vector<RankSummary> summaries;
  std::vector<std::string> faults;  // "<source>: <why>", by source
  bool has_named_fault = false;     // among them a file that the user named
};

struct JobReadOptions {
  int64_t world_size = 0;
  unsigned workers = 0;  // 0: as many as there are cores
};

JobReading read_job(const JobFiles& files, const JobReadOptions& options);

}  // namespace stepscope::cli
