#include "analyze/job_stragglers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <unordered_map>

#include <fmt/format.h>

#include "analyze/text_value.h"

namespace stepscope {
namespace {

constexpr double kLeastExcess = 0.05;
constexpr double kSpreads = 4;
constexpr double kMadToDeviation = 1.4826;
constexpr double kMostSteps = 0.6;  // in which it must show
constexpr double kExplains = 0.4;   // of the excess, to be its cause
constexpr double kMoreCalls = 1.05;
constexpr double kAllKernels = 0.8;  // of the time: then it is not some of them

// Of few ranks the better half is the model: of two, the faster one.
double lower_median(std::vector<double> values) {
  if (values.empty()) return 0;
  const size_t at = (values.size() - 1) / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(at), values.end());
  return values[at];
}

double deviation_of(const std::vector<double>& values, double median) {
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::abs(value - median));
  return kMadToDeviation * lower_median(std::move(distances));
}

// The own times of one step, by rank.
struct StepOwn {
  std::vector<std::pair<uint32_t, double>> own;
  double median = 0;
};

std::map<int64_t, StepOwn> group_steps(const Job& job) {
  std::map<int64_t, StepOwn> steps;
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    const RankSummary& summary = job.ranks[r].summary;
    for (size_t i = 0; i < summary.steps.size(); ++i) {
      if (!summary.steps[i].is_steady) continue;
      steps[summary.steps[i].number].own.emplace_back(
          r, static_cast<double>(find_own_ns(job, job.ranks[r], i)));
    }
  }
  for (auto& [number, step] : steps) {
    std::vector<double> values;
    for (const auto& [rank, own] : step.own) values.push_back(own);
    step.median = lower_median(std::move(values));
  }
  return steps;
}

void find_slow_ranks(Job& job, const std::map<int64_t, StepOwn>& steps) {
  std::vector<std::vector<double>> excesses(job.ranks.size());
  for (const auto& [number, step] : steps) {
    if (step.own.size() < 2) continue;  // there is nobody to compare with
    for (const auto& [rank, own] : step.own) excesses[rank].push_back(own - step.median);
  }
  std::vector<double> means;
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    double sum = 0;
    for (const double excess : excesses[r]) sum += excess;
    if (excesses[r].empty()) continue;
    job.ranks[r].excess_ns = sum / static_cast<double>(excesses[r].size());
    means.push_back(job.ranks[r].excess_ns);
  }
  const double middle = lower_median(means);
  const double limit = std::max(kLeastExcess * job.step_ns, kSpreads * deviation_of(means, middle));
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    JobRank& rank = job.ranks[r];
    if (excesses[r].empty() || rank.excess_ns - middle <= limit) continue;
    // One slow step, or work that is heavy now here and now there, makes no straggler.
    const auto slow = static_cast<double>(
        std::count_if(excesses[r].begin(), excesses[r].end(),
                      [&](double excess) { return excess > 0.5 * rank.excess_ns; }));
    rank.is_straggler = slow >= kMostSteps * static_cast<double>(excesses[r].size());
  }
}

// What is usual of the ranks that are no stragglers.
class Usual {
 public:
  explicit Usual(const Job& job) {
    for (const JobRank& rank : job.ranks) {
      if (!rank.is_straggler && rank.summary.steady_steps() > 0) normal_.push_back(&rank);
    }
    std::unordered_map<std::string, std::vector<double>> times;
    std::unordered_map<std::string, std::vector<double>> calls;
    for (const JobRank* rank : normal_) {
      const auto steps = static_cast<double>(rank->summary.steady_steps());
      for (const RankWork& work : work_of(rank->summary)) {
        times[work.name].push_back(static_cast<double>(work.total_ns) / steps);
        calls[work.name].push_back(static_cast<double>(work.calls) / steps);
      }
    }
    for (auto& [name, values] : times) work_ns_[name] = lower_median(std::move(values));
    for (auto& [name, values] : calls) work_calls_[name] = lower_median(std::move(values));
    work_calls_all_ = median([](const RankTimes& times_of) { return times_of.work_calls; });
  }

  static const std::vector<RankWork>& work_of(const RankSummary& summary) {
    return summary.has_device ? summary.kernels : summary.operators;
  }
  template <typename Get>
  double median(Get&& get) const {
    std::vector<double> values;
    for (const JobRank* rank : normal_) values.push_back(get(rank->times));
    return lower_median(std::move(values));
  }
  bool empty() const { return normal_.empty(); }
  double work_ns(const std::string& name) const { return find(work_ns_, name); }
  double work_calls(const std::string& name) const { return find(work_calls_, name); }
  double all_calls() const { return work_calls_all_; }
  double function_ns(const std::string& name) const {
    std::vector<double> values;
    for (const JobRank* rank : normal_) {
      double ns = 0;
      for (const RankWork& work : rank->summary.functions) {
        if (work.name == name) ns = static_cast<double>(work.total_ns);
      }
      values.push_back(ns / static_cast<double>(rank->summary.steady_steps()));
    }
    return lower_median(std::move(values));
  }
  double clock_mhz() const {
    std::vector<double> values;
    for (const JobRank* rank : normal_) {
      if (rank->summary.clock_mhz > 0) values.push_back(rank->summary.clock_mhz);
    }
    return lower_median(std::move(values));
  }

 private:
  static double find(const std::unordered_map<std::string, double>& from, const std::string& name) {
    const auto it = from.find(name);
    return it == from.end() ? 0 : it->second;
  }
  std::vector<const JobRank*> normal_;
  std::unordered_map<std::string, double> work_ns_;  // per step, by name
  std::unordered_map<std::string, double> work_calls_;
  double work_calls_all_ = 0;
};

double times_as_long(double is, double usual) { return usual > 0 ? is / usual : 0; }

std::string describe_clock(const JobRank& rank, const Usual& usual) {
  if (rank.summary.clock_mhz <= 0 || usual.clock_mhz() <= 0) return "";
  return fmt::format(", at {:.0f} MHz where others have {:.0f} MHz", rank.summary.clock_mhz,
                     usual.clock_mhz());
}

// Why its kernels take longer: more of them, all of them, or some.
void explain_work(JobRank& rank, const Usual& usual) {
  const bool is_device = rank.summary.has_device;
  const std::string what = is_device ? "kernels" : "operators";
  const auto steps = static_cast<double>(rank.summary.steady_steps());
  if (usual.all_calls() > 0 && rank.times.work_calls > kMoreCalls * usual.all_calls()) {
    rank.cause = StragglerCause::kMoreWork;
    rank.cause_detail = fmt::format("{:.0f} {} per step where others run {:.0f}",
                                    rank.times.work_calls, what, usual.all_calls());
    return;
  }
  double usual_ns = 0;
  double slower_ns = 0;  // of usual_ns: of those that are slower by as much as all are
  double most_ns = 0;
  size_t slower = 0;
  std::string most;
  double ratio_of_most = 0;
  const auto& list = Usual::work_of(rank.summary);
  double own_ns = 0;
  for (const RankWork& work : list) {
    if (usual.work_ns(work.name) <= 0) continue;
    usual_ns += usual.work_ns(work.name);
    own_ns += static_cast<double>(work.total_ns) / steps;
  }
  const double overall = times_as_long(own_ns, usual_ns);
  for (const RankWork& work : list) {
    const double before = usual.work_ns(work.name);
    const double now = static_cast<double>(work.total_ns) / steps;
    if (before > 0) {
      const double ratio = now / before;
      const bool is_like_all = ratio >= 1 + 0.5 * (overall - 1) && ratio <= 1 + 1.6 * (overall - 1);
      if (is_like_all) slower_ns += before;
      slower += is_like_all ? 1 : 0;
    }
    if (now - before > most_ns && !work.name.empty()) {
      most_ns = now - before;
      most = work.name;
      ratio_of_most = times_as_long(now, before);
    }
  }
  if (slower >= 3 && slower_ns >= kAllKernels * usual_ns) {
    rank.cause = StragglerCause::kThrottling;
    rank.cause_detail = fmt::format("all {} take {:.2f} times as long as on other ranks{}", what,
                                    overall, describe_clock(rank, usual));
    return;
  }
  rank.cause = StragglerCause::kSlowKernel;
  rank.cause_detail = most;
  if (ratio_of_most > 0) {
    rank.cause_detail += fmt::format(": {:.2f} times as long as on other ranks", ratio_of_most);
  }
}

// The function whose own time is most above the usual.
std::string describe_host(const JobRank& rank, const Usual& usual) {
  const auto steps = static_cast<double>(rank.summary.steady_steps());
  double most_ns = 0.2 * rank.excess_ns;  // less explains nothing
  std::string most;
  for (const RankWork& work : rank.summary.functions) {
    if (work.name.empty()) continue;
    const double more = static_cast<double>(work.total_ns) / steps - usual.function_ns(work.name);
    if (more <= most_ns) continue;
    most_ns = more;
    most = work.name;
  }
  if (most.empty()) return "neither input nor kernels take longer: the host is late";
  return most + ": " + text_of_ns(std::llround(most_ns)) + " more per step";
}

void explain_straggler(JobRank& rank, const Usual& usual) {
  const auto more = [&](auto get) {
    return get(rank.times) - usual.median([&](const RankTimes& times) { return get(times); });
  };
  const auto phase_of = [](Phase phase) {
    return [phase](const RankTimes& times) { return times.phases[static_cast<size_t>(phase)]; };
  };
  const double input = more(phase_of(Phase::kInput));
  const double work = more([](const RankTimes& times) { return times.compute_ns; });
  const double copies = more([](const RankTimes& times) { return times.copy_ns; });
  const double most = std::max({input, work, copies});
  if (most < kExplains * rank.excess_ns) {
    rank.cause = StragglerCause::kHost;
    rank.cause_ns = rank.excess_ns;
    rank.cause_detail = describe_host(rank, usual);
    return;
  }
  rank.cause_ns = most;
  if (input == most) {
    rank.cause = StragglerCause::kInput;
    rank.cause_detail = text_of_ns(std::llround(phase_of(Phase::kInput)(rank.times))) +
                        " of input per step where others take " +
                        text_of_ns(std::llround(usual.median(phase_of(Phase::kInput))));
  } else if (work == most) {
    explain_work(rank, usual);
  } else {
    rank.cause = StragglerCause::kCopies;
    rank.cause_detail = text_of_ns(std::llround(copies)) + " more of copies per step";
  }
}

// Which part of the own times goes up and down with them, over ranks and steps.
std::string find_where(const Job& job) {
  struct Part {
    const char* name;
    double with = 0;
  };
  std::array<Part, 2> parts = {{{"compute"}, {"input"}}};
  double square = 0;
  std::map<int64_t, std::vector<std::array<double, 3>>> by_step;
  for (const JobRank& rank : job.ranks) {
    if (rank.is_straggler) continue;
    for (size_t i = 0; i < rank.summary.steps.size(); ++i) {
      const RankStep& step = rank.summary.steps[i];
      if (!step.is_steady) continue;
      by_step[step.number].push_back(
          {static_cast<double>(find_own_ns(job, rank, i)), static_cast<double>(step.compute_ns),
           static_cast<double>(step.phases[static_cast<size_t>(Phase::kInput)])});
    }
  }
  for (const auto& [number, rows] : by_step) {
    std::array<double, 3> mean{};
    for (const auto& row : rows) {
      for (size_t i = 0; i < 3; ++i) mean[i] += row[i] / static_cast<double>(rows.size());
    }
    for (const auto& row : rows) {
      square += (row[0] - mean[0]) * (row[0] - mean[0]);
      for (size_t i = 0; i < 2; ++i) {
        parts[i].with += (row[0] - mean[0]) * (row[i + 1] - mean[i + 1]);
      }
    }
  }
  if (square <= 0) return "";
  const Part& best = parts[0].with >= parts[1].with ? parts[0] : parts[1];
  return best.with >= 0.5 * square ? best.name : "host";
}

void find_imbalance(Job& job, const std::map<int64_t, StepOwn>& steps) {
  double loss = 0;
  size_t count = 0;
  for (const auto& [number, step] : steps) {
    double sum = 0;
    double most = 0;
    size_t ranks = 0;
    for (const auto& [rank, own] : step.own) {
      if (job.ranks[rank].is_straggler) continue;
      sum += own;
      most = std::max(most, own);
      ++ranks;
    }
    if (ranks < 2) continue;
    loss += most - sum / static_cast<double>(ranks);
    ++count;
  }
  if (count == 0) return;
  job.imbalance.loss_ns = loss / static_cast<double>(count);
  job.imbalance.step_ns = job.step_ns;
  job.imbalance.where = find_where(job);
}

}  // namespace

int64_t find_own_ns(const Job& job, const JobRank& rank, size_t step) {
  const RankStep& at = rank.summary.steps[step];
  const int64_t dur_ns = at.span.end_ns - at.span.begin_ns;
  const int64_t off_ns = job.has_waits ? rank.wait_ns[step] : at.communication_ns - at.overlap_ns;
  return std::max<int64_t>(0, dur_ns - off_ns);
}

void find_stragglers(Job& job) {
  std::vector<double> durations;
  for (const JobRank& rank : job.ranks) {
    if (rank.summary.steady_steps() > 0) durations.push_back(rank.times.step_ns);
  }
  job.step_ns = lower_median(std::move(durations));
  if (job.ranks.size() < 2) return;
  const std::map<int64_t, StepOwn> steps = group_steps(job);
  find_slow_ranks(job, steps);
  const Usual usual(job);
  if (!usual.empty()) {
    for (JobRank& rank : job.ranks) {
      if (rank.is_straggler) explain_straggler(rank, usual);
    }
  }
  find_imbalance(job, steps);
}

std::vector<uint32_t> list_stragglers(const Job& job) {
  std::vector<uint32_t> list;
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    if (job.ranks[r].is_straggler) list.push_back(r);
  }
  std::stable_sort(list.begin(), list.end(), [&](uint32_t a, uint32_t b) {
    return job.ranks[a].excess_ns > job.ranks[b].excess_ns;
  });
  return list;
}

std::string_view cause_name(StragglerCause cause) {
  switch (cause) {
    case StragglerCause::kInput:
      return "input";
    case StragglerCause::kSlowKernel:
      return "slow-kernel";
    case StragglerCause::kMoreWork:
      return "more-work";
    case StragglerCause::kThrottling:
      return "throttling";
    case StragglerCause::kCopies:
      return "copies";
    case StragglerCause::kHost:
      return "host";
    case StragglerCause::kNone:
      break;
  }
  return "";
}

}  // namespace stepscope
