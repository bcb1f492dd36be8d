#include "analyze/job.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "analyze/job_clocks.h"
#include "analyze/job_matching.h"
#include "analyze/job_stragglers.h"
#include "analyze/text_value.h"
#include "base/saturating.h"

namespace stepscope {
namespace {

constexpr int64_t kFarNs = int64_t{1} << 60;
constexpr int64_t kMostMissing = 1'000'000;

// By rank. Files that do not tell theirs are numbered in their order where none does.
void take_ranks(Job& job, std::vector<RankSummary> summaries) {
  const bool has_ranks = std::any_of(summaries.begin(), summaries.end(),
                                     [](const RankSummary& summary) { return summary.rank >= 0; });
  std::stable_sort(summaries.begin(), summaries.end(),
                   [](const RankSummary& a, const RankSummary& b) { return a.rank < b.rank; });
  std::set<int64_t> seen;
  std::vector<std::string> no_ranks;
  int64_t position = 0;
  for (RankSummary& summary : summaries) {
    if (!summary.is_training && summaries.size() > 1) {
      no_ranks.push_back(summary.source);
      continue;
    }
    if (summary.rank < 0) {
      if (has_ranks) {
        job.notes.push_back(summary.source + ": does not tell its rank; left out");
        continue;
      }
      summary.rank = position++;
      summary.rank_origin = RankOrigin::kPosition;
    }
    if (!seen.insert(summary.rank).second) {
      job.notes.push_back(summary.source + ": a second trace of rank " +
                          std::to_string(summary.rank) + "; left out");
      continue;
    }
    job.world_size = std::max(job.world_size, summary.world_size);
    job.ranks.push_back({});
    job.ranks.back().summary = std::move(summary);
  }
  // A launcher, the workers of a DataLoader.
  if (!no_ranks.empty()) {
    constexpr size_t kMostNamed = 3;
    std::string names;
    for (size_t i = 0; i < std::min(no_ranks.size(), kMostNamed); ++i) {
      names += (i == 0 ? "" : ", ") + no_ranks[i];
    }
    if (no_ranks.size() > kMostNamed) names += ", …";
    job.notes.push_back("neither steps nor collectives, taken for no rank: " + names +
                        (no_ranks.size() > 1 ? " (" + std::to_string(no_ranks.size()) + ")" : ""));
  }
  if (!has_ranks && job.ranks.size() > 1) {
    job.notes.emplace_back("no trace tells its rank: they are numbered in the order of the files");
  }
}

void find_missing(Job& job, const JobOptions& options) {
  if (options.world_size > 0) job.world_size = options.world_size;
  if (job.ranks.empty()) return;
  job.world_size = std::max(job.world_size, job.ranks.back().summary.rank + 1);
  size_t at = 0;
  // A world size is only a number that a file claims.
  for (int64_t rank = 0; rank < std::min(job.world_size, kMostMissing); ++rank) {
    if (at < job.ranks.size() && job.ranks[at].summary.rank == rank) {
      ++at;
    } else {
      job.missing.push_back(rank);
    }
  }
}

// When the calls of each collective began and ended, and what of it was waiting.
void find_waits(Job& job) {
  for (JobRank& rank : job.ranks) rank.wait_ns.assign(rank.summary.steps.size(), 0);
  for (JobCollective& one : job.collectives) {
    bool is_first = true;
    for (const auto& [r, c] : one.members) {
      const JobRank& rank = job.ranks[r];
      const CollectiveCall& call = rank.summary.calls[c];
      const int64_t start_ns = job.aligned_ns(rank, call.start_ns);
      const int64_t end_ns = job.aligned_ns(rank, call.end_ns);
      if (is_first || start_ns < one.first_start_ns) one.first_start_ns = start_ns;
      if (is_first || start_ns > one.last_start_ns) {
        one.last_start_ns = start_ns;
        one.last_rank = r;
      }
      if (is_first || end_ns > one.last_end_ns) one.last_end_ns = end_ns;
      is_first = false;
    }
    for (const auto& [r, c] : one.members) {
      JobRank& rank = job.ranks[r];
      const CollectiveCall& call = rank.summary.calls[c];
      if (call.step < 0) continue;
      const int64_t from_ns = job.aligned_ns(rank, call.exposed_from_ns);
      const int64_t until_ns = std::min(one.last_start_ns, job.aligned_ns(rank, call.end_ns));
      const int64_t waited_ns = std::min(until_ns - from_ns, call.exposed_ns);
      if (waited_ns > 0) add_to(rank.wait_ns[static_cast<size_t>(call.step)], waited_ns);
    }
    job.has_waits = true;
  }
  // Collectives of several streams wait at the same time.
  for (JobRank& rank : job.ranks) {
    for (size_t i = 0; i < rank.wait_ns.size(); ++i) {
      const RankStep& step = rank.summary.steps[i];
      rank.wait_ns[i] =
          std::min(rank.wait_ns[i], std::max<int64_t>(0, step.communication_ns - step.overlap_ns));
    }
  }
}

void find_rank_times(Job& job) {
  for (JobRank& rank : job.ranks) {
    const auto steps = static_cast<double>(rank.summary.steady_steps());
    if (steps == 0) continue;
    RankTimes& times = rank.times;
    for (size_t i = 0; i < rank.summary.steps.size(); ++i) {
      const RankStep& step = rank.summary.steps[i];
      if (!step.is_steady) continue;
      times.step_ns += static_cast<double>(step.span.end_ns - step.span.begin_ns);
      times.compute_ns += static_cast<double>(step.compute_ns);
      times.communication_ns += static_cast<double>(step.communication_ns);
      times.overlap_ns += static_cast<double>(step.overlap_ns);
      times.copy_ns += static_cast<double>(step.copy_ns);
      times.idle_ns += static_cast<double>(step.idle_ns);
      times.wait_ns += static_cast<double>(rank.wait_ns[i]);
      times.own_ns += static_cast<double>(find_own_ns(job, rank, i));
      for (size_t p = 0; p < kPhases; ++p) times.phases[p] += static_cast<double>(step.phases[p]);
    }
    for (const RankWork& work :
         rank.summary.has_device ? rank.summary.kernels : rank.summary.operators) {
      times.work_ns += static_cast<double>(work.total_ns);
      times.work_calls += static_cast<double>(work.calls);
    }
    for (double* sum : {&times.step_ns, &times.compute_ns, &times.communication_ns,
                        &times.overlap_ns, &times.copy_ns, &times.idle_ns, &times.wait_ns,
                        &times.own_ns, &times.work_ns, &times.work_calls}) {
      *sum /= steps;
    }
    for (double& sum : times.phases) sum /= steps;
  }
}

void add_notes(Job& job) {
  if (!job.missing.empty()) {
    job.notes.push_back(std::to_string(job.missing.size()) + " of " +
                        std::to_string(job.world_size) +
                        " ranks have no trace here: " + text_of_ranks(job.missing));
  }
  for (const JobRank& rank : job.ranks) {
    for (const std::string& note : rank.summary.notes) {
      job.notes.push_back("rank " + std::to_string(rank.summary.rank) + " (" + rank.summary.source +
                          "): " + note);
    }
  }
  if (job.ranks.size() < 2) return;
  std::vector<int64_t> unaligned;
  int64_t worst_ns = 0;
  for (const JobRank& rank : job.ranks) {
    if (!rank.clock_offset_ns) unaligned.push_back(rank.summary.rank);
    worst_ns = std::max(worst_ns, rank.clock_error_ns);
  }
  if (!job.has_waits) {
    job.notes.emplace_back(
        "no collective was found on several ranks: clocks are not aligned, and who waited for whom "
        "is not known");
    return;
  }
  job.notes.push_back(
      "clocks are aligned by " + text_of_count(static_cast<int64_t>(job.collectives.size())) +
      " collectives; what is left is at most " + text_of_ns(worst_ns) + " in the median of a rank");
  if (!unaligned.empty()) {
    job.notes.push_back("the clocks of ranks " + text_of_ranks(unaligned) +
                        " are not aligned: no collective of theirs was found on another rank");
  }
}

}  // namespace

int64_t Job::relative_ns(int64_t ns) const {
  return std::clamp(subtract_saturating(ns, origin_ns), -kFarNs, kFarNs);
}

Job Job::build(std::vector<RankSummary> summaries, const JobOptions& options) {
  Job job;
  take_ranks(job, std::move(summaries));
  find_missing(job, options);
  for (const JobRank& rank : job.ranks) {
    job.is_by_step = job.is_by_step || rank.summary.has_steps;
    if (job.origin_ns == 0 && !rank.summary.steps.empty()) {
      job.origin_ns = rank.summary.steps.front().span.begin_ns;
    }
  }
  match_collectives(job);
  align_clocks(job);
  find_waits(job);
  find_rank_times(job);
  find_stragglers(job);
  add_notes(job);
  return job;
}

std::string text_of_ranks(const std::vector<int64_t>& ranks) {
  constexpr size_t kMostRanges = 12;
  std::string text;
  size_t ranges = 0;
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (ranges++ == kMostRanges) return text + ", …";
    text += (text.empty() ? "" : ", ") + std::to_string(ranks[i]);
    if (last > i) text += (last == i + 1 ? ", " : "-") + std::to_string(ranks[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace stepscope
