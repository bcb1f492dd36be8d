// The views `ranks` and `collectives` of one trace: a job of one rank. Several traces are one job
// for `stepscope ranks` and for `report --view ranks`.
#include <memory>
#include <utility>
#include <vector>

#include "analyze/job.h"
#include "analyze/views.h"

namespace stepscope {

std::shared_ptr<const Job> Job::of(const Trace& trace) {
  return trace.derived().get<Job>("job", [&] {
    std::vector<RankSummary> summaries;
    summaries.push_back(summarize_rank(trace, {.source = trace.source()}));
    return Job::build(std::move(summaries), {});
  });
}

Result<Table> ranks(const Trace& trace, const TableOptions&) {
  return make_ranks_table(*Job::of(trace));
}

Result<Table> collectives(const Trace& trace, const TableOptions& options) {
  return make_collectives_table(*Job::of(trace), options.by == kByRank);
}

}  // namespace stepscope
