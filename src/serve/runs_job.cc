#include "serve/runs_job.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "advise/rank_reader.h"
#include "ingest/profile_folder.h"
#include "ingest/trace_paths.h"
#include "trace/recording.h"

namespace stepscope::serve {
namespace {

// The traces in the folder of a run or of a profile, each by itself.
std::vector<std::string> find_files_in(const RunInfo& run) {
  if (!is_folder(run.path) || !(is_run_folder(run.path) || find_profile(run.path))) return {};
  auto files = find_rank_files(run.path);
  if (!files || files->size() < 2) return {};
  return *std::move(files);
}

// Several files may as well be one rank: its workers, or stretches of it one after the other.
bool are_several_ranks(const std::vector<RankSummary>& summaries) {
  std::set<int64_t> told;
  std::vector<Interval> spans;
  for (const RankSummary& summary : summaries) {
    if (!summary.is_training || summary.steps.empty()) continue;
    if (summary.rank >= 0) told.insert(summary.rank);
    spans.push_back({summary.steps.front().span.begin_ns, summary.steps.back().span.end_ns});
  }
  std::sort(spans.begin(), spans.end(),
            [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
  const auto overlaps = [](const Interval& a, const Interval& b) { return b.begin_ns < a.end_ns; };
  return told.size() > 1 || std::adjacent_find(spans.begin(), spans.end(), overlaps) != spans.end();
}

// What a rank is called: it begins with its run's name.
std::string name_of_rank(const RunInfo& run, const std::string& file) {
  return run.name + "/" + std::filesystem::path(file).lexically_relative(run.path).string();
}

}  // namespace

RunsJob::Ranks RunsJob::read(const RunInfo& run) {
  Ranks ranks;
  ranks.version = run.version;
  const auto add = [&](const std::string& file, const std::string& source) {
    auto summary = read_rank(file, {.source = source});
    if (summary) {
      ranks.summaries.push_back(*std::move(summary));
    } else {
      ranks.faults.push_back(summary.status().message());
    }
  };
  for (const std::string& file : find_files_in(run)) add(file, name_of_rank(run, file));
  if (are_several_ranks(ranks.summaries)) return ranks;
  ranks.summaries.clear();
  ranks.faults.clear();
  if (run.trace) {
    ranks.summaries.push_back(summarize_rank(*run.trace, {.source = run.name}));
  } else {
    add(run.path, run.name);
  }
  return ranks;
}

Result<std::shared_ptr<const Job>> RunsJob::get(size_t run, const RunsJobOptions& options) {
  const std::vector<RunInfo> infos = runs_.info();
  if (run >= infos.size()) return Status::error("no run " + std::to_string(run));
  const std::lock_guard lock(mutex_);
  std::string made_of;
  std::vector<const Ranks*> members;
  std::vector<std::string> faults;
  size_t waiting = 0;
  for (size_t i = 0; i < infos.size(); ++i) {
    const RunInfo& info = infos[i];
    if (info.job != infos[run].job) continue;
    if (options.should_stop && options.should_stop()) return Status::error("stopped");
    made_of += std::to_string(i) + "." + std::to_string(info.version);
    if (!info.trace && !info.error.empty()) {
      faults.push_back(info.error);
      made_of += "-,";
      continue;
    }
    const auto kept = ranks_.find(i);
    const bool is_kept = kept != ranks_.end() && kept->second.version == info.version;
    if (!is_kept && !info.trace && !options.with_waiting) {
      ++waiting;
      made_of += "?,";
      continue;
    }
    made_of += ",";
    if (!is_kept) ranks_[i] = read(info);
    members.push_back(&ranks_[i]);
  }
  if (job_ && made_of == made_of_) return job_;

  std::vector<RankSummary> summaries;
  for (const Ranks* ranks : members) {
    summaries.insert(summaries.end(), ranks->summaries.begin(), ranks->summaries.end());
    faults.insert(faults.end(), ranks->faults.begin(), ranks->faults.end());
  }
  Job job = Job::build(std::move(summaries), {});
  for (const std::string& fault : faults) job.notes.push_back("not read: " + fault);
  if (waiting > 0) {
    job.notes.push_back(std::to_string(waiting) +
                        (waiting == 1 ? " more run is" : " more runs are") +
                        " not loaded, and not part of these figures");
  }
  job_ = std::make_shared<const Job>(std::move(job));
  made_of_ = std::move(made_of);
  return job_;
}

}  // namespace stepscope::serve
