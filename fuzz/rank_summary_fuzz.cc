// Arbitrary bytes as the summary of a rank: what is taken is written again as it was, and makes a
// job, with a second rank like it, all of whose views and findings can be made. The checksum is
// put right, or nothing would get past it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "advise/job_advice.h"
#include "analyze/job.h"
#include "analyze/job_diff.h"
#include "analyze/rank_summary.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/crc32c.h"

using namespace stepscope;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr std::string_view kMagic = "SSRANK1\n";
  const std::span<const uint8_t> body(data, size);
  std::vector<uint8_t> bytes(kMagic.begin(), kMagic.end());
  append_le(bytes, crc32c(body));
  bytes.insert(bytes.end(), body.begin(), body.end());
  (void)decode_summary(body);
  const Result<RankSummary> summary = decode_summary(bytes);
  if (!summary) return 0;
  CHECK(encode_summary(*summary) == bytes, "what is written is what was read");
  std::vector<RankSummary> both = {*summary, *summary};
  both[1].rank = both[0].rank + 1;
  for (CollectiveCall& call : both[1].calls) call.end_ns = std::max(call.start_ns, call.end_ns - 1);
  const Job job = Job::build(std::move(both), {});
  (void)make_ranks_table(job);
  (void)make_collectives_table(job, false);
  (void)make_collectives_table(job, true);
  (void)make_groups_table(job);
  (void)make_findings_table(advise_job(job));
  CHECK(compare_jobs(job, job, {}).ok(), "a job can be compared with itself");
  return 0;
}
