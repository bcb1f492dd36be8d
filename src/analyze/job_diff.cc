#include "analyze/job_diff.h"

#include <array>
#include <map>
#include <string>
#include <vector>

#include "analyze/diff_side.h"
#include "analyze/job_stragglers.h"

namespace stepscope {
namespace {

// Of a step with one number: the mean over the ranks that have it.
struct StepMeans {
  double step_ns = 0;
  std::array<double, kPhases> phases{};
  double ranks = 0;
};

std::string work_name(const RankWork& work) { return work.name.empty() ? "(others)" : work.name; }

DiffSide make_side(const Job& job) {
  DiffSide side;
  std::map<int64_t, StepMeans> steps;
  for (const JobRank& rank : job.ranks) {
    for (const RankStep& step : rank.summary.steps) {
      if (!step.is_steady) continue;
      StepMeans& means = steps[step.number];
      means.step_ns += static_cast<double>(step.span.end_ns - step.span.begin_ns);
      for (size_t i = 0; i < kPhases; ++i) means.phases[i] += static_cast<double>(step.phases[i]);
      ++means.ranks;
    }
  }
  side.steps = job.is_by_step ? steps.size() : 0;
  for (const auto& [number, means] : steps) {
    side.step.add(means.step_ns / means.ranks);
    for (size_t i = 0; i < kPhases; ++i) {
      side.times[{"phases", std::string(kPhaseNames[i])}].add(means.phases[i] / means.ranks);
    }
  }
  for (const JobRank& rank : job.ranks) {
    const auto steady = static_cast<double>(rank.summary.steady_steps());
    if (steady == 0) continue;
    const auto add = [&](const char* section, const std::vector<RankWork>& list) {
      for (const RankWork& work : list) {
        side.times[{section, work_name(work)}].add(static_cast<double>(work.total_ns) / steady);
      }
    };
    add("operators", rank.summary.operators);
    add("kernels", rank.summary.kernels);
    add("functions", rank.summary.functions);
    side.times[{"ranks", "rank " + std::to_string(rank.summary.rank)}].add(rank.times.own_ns);
  }
  for (const char* section : {"operators", "kernels", "functions"}) {
    side.samples_of[section] = job.ranks.size();
  }
  side.samples_of["ranks"] = 1;  // each is one: no noise is known
  return side;
}

}  // namespace

Result<Diff> compare_jobs(const Job& before, const Job& after, const TableOptions& options) {
  const bool has_steps = before.is_by_step && after.is_by_step;
  auto diff = finish_diff(make_side(before), make_side(after), has_steps, options);
  if (!diff) return diff;
  diff->table.notes.push_back(std::to_string(before.ranks.size()) + " ranks are compared with " +
                              std::to_string(after.ranks.size()) +
                              "; times of a rank are its own, without waiting for others");
  for (const std::string& note : before.notes) diff->table.notes.push_back("before: " + note);
  for (const std::string& note : after.notes) diff->table.notes.push_back("after: " + note);
  return diff;
}

}  // namespace stepscope
