#include "cli/merge_ranks.h"

#include <map>
#include <utility>

#include "analyze/job.h"
#include "cli/commands.h"
#include "cli/job_reader.h"
#include "cli/load_trace.h"
#include "ingest/trace_paths.h"
#include "trace/recording.h"
#include "trace/trace_merger.h"

namespace stepscope::cli {

bool has_several_ranks(const std::vector<std::string>& paths) {
  if (paths.size() > 1) return true;
  if (!is_folder(paths.front()) || is_run_folder(paths.front())) return false;
  const auto files = find_trace_files(paths.front());
  return files && files->size() > 1;
}

Result<Trace> merge_ranks(const std::vector<std::string>& paths, int& exit_code) {
  const JobFiles files = find_job_files(paths);
  JobReading reading = read_job(files, {});
  for (const std::string& fault : files.faults) print_remark(fault);
  for (const std::string& fault : reading.faults) print_remark(fault);
  if (reading.has_named_fault || !files.faults.empty()) exit_code = kExitFault;
  const Job job = Job::build(std::move(reading.summaries), {});
  if (job.ranks.empty()) return Status::error(paths.front() + ": no rank could be read");
  for (const std::string& note : job.notes) print_remark(note);

  std::map<std::string, std::string> path_of;  // by source
  for (const RankFile& file : files.files) path_of.try_emplace(file.source, file.path);
  TraceMerger merger;
  for (const JobRank& rank : job.ranks) {
    const auto trace = load_trace(path_of[rank.summary.source]);
    if (!trace) {
      print_remark(trace.status().message());
      exit_code = kExitFault;
      continue;
    }
    const Status status = merger.add(*trace, -rank.clock_offset_ns.value_or(0),
                                     "rank " + std::to_string(rank.summary.rank));
    if (!status) return status;
  }
  if (merger.count() == 0) return Status::error(paths.front() + ": no rank could be read");
  return std::move(merger).finish();
}

}  // namespace stepscope::cli
