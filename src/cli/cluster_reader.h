// Reads the ranks of a job on an existing cluster: the package's stepscope._cluster, in the Python
// beside this command, hands one rank to a worker each, and gives their summaries back through a
// pipe. Nothing but summaries travels, and none of their bytes is believed.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/job_reader.h"

namespace stepscope::cli {

struct ClusterOptions {
  std::string cluster;    // dask://HOST:PORT
  std::string python;     // an interpreter; "" for the one beside this command
  std::string called_as;  // argv[0]
  int64_t world_size = 0;
};

// `paths` are files, folders or URLs that the workers can read. Fails where there is no such
// cluster, or no Python with the package.
Result<JobReading> read_job_on_cluster(const std::vector<std::string>& paths,
                                       const ClusterOptions& options);

}  // namespace stepscope::cli
