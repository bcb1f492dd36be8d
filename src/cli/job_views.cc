#include "cli/job_views.h"

#include <algorithm>
#include <utility>

#include "advise/job_view.h"
#include "cli/cluster_reader.h"
#include "cli/commands.h"
#include "cli/job_reader.h"

namespace stepscope::cli {
namespace {

Result<JobReading> read_ranks(const JobRequest& request) {
  if (!request.cluster.empty()) {
    return read_job_on_cluster(
        request.paths, {request.cluster, request.python, request.called_as, request.world_size});
  }
  const JobFiles files = find_job_files(request.paths);
  JobReading reading = read_job(files, {request.world_size, request.workers});
  reading.faults.insert(reading.faults.begin(), files.faults.begin(), files.faults.end());
  std::sort(reading.faults.begin(), reading.faults.end());
  reading.has_named_fault |= !files.faults.empty();
  return reading;
}

}  // namespace

Result<Job> load_job(const JobRequest& request, int& exit_code) {
  auto reading = read_ranks(request);
  if (!reading) return reading.status();
  if (reading->summaries.empty() && reading->faults.size() == 1) {
    return Status::error(reading->faults.front());
  }
  for (const std::string& fault : reading->faults) print_remark(fault);
  if (reading->has_named_fault) exit_code = kExitFault;
  if (reading->summaries.empty()) {
    return Status::error((request.paths.empty() ? "" : request.paths.front() + ": ") +
                         "no rank could be read");
  }
  Job job = Job::build(std::move(reading->summaries), {.world_size = request.world_size});
  for (const std::string& fault : reading->faults) job.notes.push_back("not read: " + fault);
  return job;
}

int print_job_views(const JobRequest& request) {
  if (request.views.size() > 1 && request.output.format == "csv") {
    return print_usage_error(request.command, "--format csv holds one table: name one --view");
  }
  int exit_code = kExitFine;
  const auto job = load_job(request, exit_code);
  if (!job) return print_fault(job.status());
  auto out = TableOutput::create(request.output, request.views.size() > 1, false);
  if (!out) return print_fault(out.status());
  for (const std::string& view : request.views) {
    const auto table = make_job_view(*job, view, request.table);
    if (!table) {
      return print_usage_error(request.command, "--view " + view + ": " + table.status().message());
    }
    (*out)->add(*table, request.paths.front());
    if (!(*out)->ok()) break;
  }
  if (const Status status = (*out)->finish(); !status) return print_fault(status);
  return exit_code;
}

}  // namespace stepscope::cli
