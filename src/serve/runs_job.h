// RunsJob: the jobs whose ranks are a server's runs (RunInfo::job). A run is reduced to summaries
// of its ranks, which are kept until its version grows; a job is made of them, once.
//
//   RunsJob jobs(runs);
//   const auto job = jobs.get(0, {});      // that of run 0
//
// The folder of a run may hold the recordings of several ranks. Its trace has them as processes
// side by side, so their files are read once more, one by one.
//
// Runs that wait until they are asked for are left out and counted, unless they are wanted too: of
// those nothing but the summary is kept. Any thread may ask; while a job is made, others wait.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "analyze/job.h"
#include "base/status.h"
#include "serve/runs.h"

namespace stepscope::serve {

struct RunsJobOptions {
  bool with_waiting = false;
  // Asked between two runs; true: no one waits for the job any more.
  std::function<bool()> should_stop;
};

class RunsJob {
 public:
  explicit RunsJob(Runs& runs) : runs_(runs) {}

  // Fails where there is no such run, or where it was stopped.
  Result<std::shared_ptr<const Job>> get(size_t run, const RunsJobOptions& options);

 private:
  struct Ranks {
    uint64_t version = 0;
    std::vector<RankSummary> summaries;
    std::vector<std::string> faults;
  };
  static Ranks read(const RunInfo& run);

  Runs& runs_;
  std::mutex mutex_;               // guards what is below
  std::map<size_t, Ranks> ranks_;  // by run
  std::string made_of_;            // runs and versions of job_
  std::shared_ptr<const Job> job_;
};

}  // namespace stepscope::serve
