#include "cli/job_reader.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>

#include "advise/rank_reader.h"
#include "cli/terminal.h"
#include "ingest/trace_paths.h"

namespace stepscope::cli {

JobFiles find_job_files(const std::vector<std::string>& paths) {
  JobFiles found;
  for (const std::string& path : paths) {
    const auto files = find_rank_files(path);
    if (!files) {
      found.faults.push_back(files.status().message());
      continue;
    }
    const bool is_in_folder = is_folder(path);
    for (const std::string& file : *files) {
      std::string source = file;
      if (is_in_folder) {
        source = std::filesystem::path(file).lexically_relative(path).string();
        if (source.empty()) source = file;
      }
      found.files.push_back({file, std::move(source), !is_in_folder});
    }
  }
  return found;
}

JobReading read_job(const JobFiles& files, const JobReadOptions& options) {
  const size_t count = files.files.size();
  std::vector<Result<RankSummary>> results(count, Status::error("not read"));
  std::atomic<size_t> next = 0;
  std::atomic<size_t> done = 0;
  ProgressBar bar("ranks");
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) {
      SummaryOptions summary_options;
      summary_options.source = files.files[i].source;
      summary_options.world_size = options.world_size;
      results[i] = read_rank(files.files[i].path, summary_options);
      const size_t so_far = ++done;
      bar.show(static_cast<double>(so_far) / static_cast<double>(count),
               std::to_string(so_far) + " of " + std::to_string(count) + " ranks");
    }
  };
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const size_t workers = std::min(count, options.workers > 0 ? options.workers : cores);
  std::vector<std::thread> threads;
  for (size_t i = 1; i < workers; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();

  JobReading reading;
  for (size_t i = 0; i < count; ++i) {
    if (results[i]) {
      reading.summaries.push_back(*std::move(results[i]));
      continue;
    }
    reading.faults.push_back(results[i].status().message());
    reading.has_named_fault |= files.files[i].is_named;
  }
  std::sort(reading.faults.begin(), reading.faults.end());
  return reading;
}

}  // namespace stepscope::cli
