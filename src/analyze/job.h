// Job: all ranks of a training together, from their summaries. Calls of one collective are matched
// across ranks (job_matching.h), clocks aligned by them (job_clocks.h); then it can be told who
// waited for whom, who is slow, and why.
//
//   Job job = Job::build(std::move(summaries), {});
//   Table ranks = make_ranks_table(job);
//
// Costs O(calls) but for the sorts; a job of 1,000 ranks with 1,000 collectives each takes seconds.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/rank_summary.h"
#include "analyze/table.h"

namespace stepscope {

// One collective of the job: the calls of all ranks that are the same one.
struct JobCollective {
  struct Member {
    uint32_t rank;  // into Job::ranks
    uint32_t call;  // into its summary's calls
  };
  uint32_t group = 0;  // into Job::groups
  CollectiveType type = CollectiveType::kOther;
  std::vector<Member> members;
  // On the job's clock; set where clocks are aligned.
  int64_t first_start_ns = 0;
  int64_t last_start_ns = 0;
  int64_t last_end_ns = 0;
  uint32_t last_rank = 0;  // who came last; into Job::ranks
};

enum class StragglerCause : uint8_t {
  kNone = 0,
  kInput,       // it waits for its data
  kSlowKernel,  // some of its kernels, or operators, take longer than the others'
  kMoreWork,    // it runs more of them
  kThrottling,  // all of them take longer: a lower clock, or a shared device
  kCopies,
  kHost,  // neither: Python, launches, the operating system
};
std::string_view cause_name(StragglerCause cause);  // "input", "slow-kernel", …

// What steps of a rank took, in the mean of its steady ones.
struct RankTimes {
  double step_ns = 0;
  double compute_ns = 0;
  double communication_ns = 0;
  double overlap_ns = 0;
  double copy_ns = 0;
  double idle_ns = 0;
  double wait_ns = 0;  // in collectives for ranks that came later, with nothing computed meanwhile
  double own_ns = 0;   // the step without that: what the rank would take alone
  std::array<double, kPhases> phases{};
  double work_ns = 0;  // its kernels' time, or of a host its operators'
  double work_calls = 0;
};

struct JobRank {
  RankSummary summary;
  RankTimes times;
  std::vector<uint32_t> groups;            // into Job::groups, by group of the summary
  std::vector<int64_t> wait_ns;            // by step of the summary
  std::optional<int64_t> clock_offset_ns;  // of its clock, ahead of the job's; none: not aligned
  int64_t clock_error_ns = 0;  // how far its collectives' ends are off then, in the median
  uint64_t clock_calls = 0;    // collectives that this rests on
  // Against the others, step by step: how much longer its own time is than the median.
  double excess_ns = 0;
  bool is_straggler = false;
  StragglerCause cause = StragglerCause::kNone;
  double cause_ns = 0;       // how much of the excess the cause explains
  std::string cause_detail;  // "volta_sgemm: 2.0 times as long"
};

struct JobGroup {
  std::string name;
  std::string description;
  std::vector<int32_t> ranks;
  int64_t size = 0;
};

// How unevenly work is spread over the ranks that are no stragglers.
struct LoadImbalance {
  double loss_ns = 0;  // per step: the slowest of the step less the mean
  double step_ns = 0;
  std::string where;  // "compute", "input", "host"; "" where nothing stands out
};

struct JobOptions {
  int64_t world_size = 0;  // 0: as the traces tell
};

struct Job {
  std::vector<JobRank> ranks;  // by rank
  std::vector<JobGroup> groups;
  std::vector<JobCollective> collectives;  // of two ranks and more
  int64_t world_size = 0;
  std::vector<int64_t> missing;    // ranks without a trace
  std::vector<std::string> notes;  // for people
  bool has_waits = false;          // collectives were matched: waits are known
  bool is_by_step = false;         // ranks have steps of their own
  int64_t origin_ns = 0;           // the 0 of times in collectives
  double step_ns = 0;              // the median over ranks
  LoadImbalance imbalance;

  static Job build(std::vector<RankSummary> summaries, const JobOptions& options);
  // A trace alone as a job of one rank, made once.
  static std::shared_ptr<const Job> of(const Trace& trace);

  // From the job's origin, by the rank's own clock.
  int64_t relative_ns(int64_t ns) const;
  // The same on the job's clock.
  int64_t aligned_ns(const JobRank& rank, int64_t ns) const {
    return relative_ns(ns) - rank.clock_offset_ns.value_or(0);
  }
};

// Places in Job::ranks, the slowest first.
std::vector<uint32_t> list_stragglers(const Job& job);

// The view `ranks`: a row per rank.
Table make_ranks_table(const Job& job);
// The view `collectives`: a row per kind of collective, or per kind and rank (TableOptions::by).
inline constexpr std::string_view kByRank = "rank";
Table make_collectives_table(const Job& job, bool by_rank);
// The view `groups`: process groups, and what they are for.
Table make_groups_table(const Job& job);

// "0-3, 5, 8-254"
std::string text_of_ranks(const std::vector<int64_t>& ranks);

}  // namespace stepscope
