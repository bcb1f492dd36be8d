// What is wrong with a job: the rules about all its ranks together.
//
//   const Advice advice = advise_job(job);
//   Table table = make_findings_table(advice);
#pragma once

#include "advise/advise.h"
#include "analyze/job.h"

namespace stepscope {

Advice advise_job(const Job& job);

}  // namespace stepscope
