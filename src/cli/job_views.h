// Prints the views of a job: for `stepscope ranks`, and for `report` where several traces are asked
// for their ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/job.h"
#include "analyze/table.h"
#include "base/status.h"
#include "cli/table_output.h"

namespace stepscope::cli {

struct JobRequest {
  std::string command;  // for messages: "ranks"
  std::vector<std::string> paths;
  std::vector<std::string> views;  // of job_view_names()
  int64_t world_size = 0;
  unsigned workers = 0;
  std::string cluster;  // dask://HOST:PORT; "": this machine
  std::string python;
  std::string called_as;
  TableOptions table;
  TableOutputOptions output;
};

// Reads the job and says on stderr what could not be read. `exit_code` becomes what that calls for.
Result<Job> load_job(const JobRequest& request, int& exit_code);

int print_job_views(const JobRequest& request);

}  // namespace stepscope::cli
