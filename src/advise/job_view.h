// The views of a job, by name: ranks, collectives, groups, findings. The one way for front ends.
//
//   Result<Table> table = make_job_view(job, "collectives", {.by = std::string(kByRank)});
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyze/job.h"
#include "analyze/table.h"
#include "base/status.h"

namespace stepscope {

const std::vector<std::string>& job_view_names();
bool is_job_view(std::string_view name);
// "unknown view of a job 'x'; there are: ranks, …"
Status unknown_job_view(std::string_view name);

// Filtered, sorted and cut as the options say; 50 rows where they say nothing. Fails where there is
// no such view or no such column to sort by.
Result<Table> make_job_view(const Job& job, std::string_view name, const TableOptions& options);

}  // namespace stepscope
