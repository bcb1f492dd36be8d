// load_trace() and load_run(): .sscope files, one or those of a run, through a TraceBuilder.
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "format/block_reader.h"
#include "trace/known_threads.h"
#include "trace/recording.h"
#include "trace/row_budget.h"
#include "trace/trace_builder.h"
#include "trace/trace_file.h"
#include "trace/trace_loader.h"

namespace stepscope {
namespace {

using State = Recording::State;

// Recordings, one after the other, into one trace.
class RunLoader {
 public:
  RunLoader(std::string source, const TraceReadOptions& options) : options_(options) {
    builder_.set_format(std::string(kRecordingFormat));
    builder_.set_source(std::move(source));
  }

  void add(const Recording& recording, const std::string& note_prefix) {
    for (const std::string& fault : recording.faults()) builder_.stats().note(fault);
    add(recording.sources(note_prefix), recording.bytes(), recording.info(), recording.state(),
        recording.begins_late());
    if (const auto& pool = recording.pool()) {
      builder_.stats().add(Stat::kRecordsDropped, pool->dropped);
      builder_.stats().add(Stat::kBlocksDamaged, pool->pieces_damaged);
      if (pool->pieces_damaged > 0) {
        builder_.stats().note(note_prefix + std::to_string(pool->pieces_damaged) +
                              " parts of the pool are damaged");
      }
    }
  }

  void add(const std::vector<BlockSource>& sources, uint64_t bytes, const RecordingInfo& info,
           State state, bool begins_late) {
    RowBudget budget =
        options_.max_rows ? RowBudget(*options_.max_rows) : RowBudget::for_file_of(bytes);
    TraceLoader loader(builder_, budget, sources);
    align(loader, info.boot_id);
    std::vector<uint32_t>& processes = processes_by_boot_[info.boot_id];
    const auto known_before = static_cast<uint32_t>(builder_.processes().size());
    KnownThreads known;
    if (info.is_sampler() && !info.boot_id.empty()) {
      known = KnownThreads::of(builder_, processes);
      loader.join(known, info.is_beside_calls);
    }
    if (begins_late) loader.set_begins_late();
    loader.load();
    for (uint32_t i = known_before; i < builder_.processes().size(); ++i) processes.push_back(i);
    if (info.is_beside_calls) return;  // nothing is missing where it is
    ++recordings_;
    ++count_by_state_[static_cast<size_t>(state)];
    if (state == State::kEnded) {
      recovered_ += loader.records_from_pool();
      builder_.stats().add(Stat::kRecordsRecovered, loader.records_from_pool());
    }
  }

  Trace finish() {
    note_states();
    if (options_.add_to_run) options_.add_to_run(builder_, clock_base_ns_);
    return std::move(builder_).finish();
  }

 private:
  // The first recording's clock is the trace's. The monotonic clock is the same for all programs
  // from a boot of a machine to the next; others are brought together by the time of day.
  void align(TraceLoader& loader, const std::string& boot_id) {
    if (loader.clock().empty()) return;
    const int64_t base_ns = std::clamp(loader.clock().realtime_base_ns(), -TraceBuilder::kMaxTimeNs,
                                       TraceBuilder::kMaxTimeNs);
    if (!has_clock_) {
      has_clock_ = true;
      clock_base_ns_ = base_ns;
      boot_id_ = boot_id;
      builder_.set_clock_base_ns(base_ns);
    } else if (boot_id.empty() || boot_id != boot_id_) {
      loader.shift_ns(base_ns - clock_base_ns_);
    }
  }

  void note_states();

  const TraceReadOptions& options_;
  TraceBuilder builder_;
  bool has_clock_ = false;
  int64_t clock_base_ns_ = 0;
  std::string boot_id_;
  uint64_t recordings_ = 0;
  std::map<std::string, std::vector<uint32_t>> processes_by_boot_;
  uint64_t count_by_state_[Recording::kStateCount] = {};
  uint64_t recovered_ = 0;
};

void RunLoader::note_states() {
  const auto count = [&](State state) { return count_by_state_[static_cast<size_t>(state)]; };
  const auto recordings = [&](State state) {
    return std::to_string(count(state)) + " of " + std::to_string(recordings_) + " recordings";
  };
  Stats& stats = builder_.stats();
  if (count(State::kEnded) > 0) {
    const std::string records = std::to_string(recovered_) + " records recovered from ";
    stats.note(recordings_ == 1
                   ? records + "the pool: the program ended without closing its recording"
                   : records + "pools: programs ended without closing " +
                         recordings(State::kEnded));
  }
  if (count(State::kRunning) > 0) {
    stats.note(recordings_ == 1
                   ? "still being recorded: as of now"
                   : recordings(State::kRunning) + " are still being recorded: as of now");
  }
  if (count(State::kPoolMissing) > 0) {
    stats.note(recordings_ == 1
                   ? "the recording was not closed and its pool is missing: the last records of "
                     "each thread are lost"
                   : recordings(State::kPoolMissing) +
                         " were not closed and their pools are missing: the last records of each "
                         "thread are lost");
  }
  if (count(State::kSamplerKilled) > 0) {
    stats.note(
        "the sampler ended without closing its file: what it saw in its last second is lost");
  }
  if (count(State::kPart) > 0) {
    stats.note("one of several files of a recording; name the folder to see all of them");
  }
}

}  // namespace

Result<Trace> load_trace(std::span<const uint8_t> file, std::string source,
                         const TraceReadOptions& options) {
  auto reader = format::BlockReader::open(file, {.verify_checksums = options.verify_checksums});
  if (!reader) return Status::error(source + ": " + reader.status().message());
  RunLoader loader(std::move(source), options);
  const RecordingInfo info = read_recording_info(*reader);
  const State state = info.file_id == 0   ? State::kNoRecording
                      : info.is_closed    ? State::kClosed
                      : info.is_sampler() ? State::kSamplerKilled
                                          : State::kPoolMissing;
  loader.add({{.reader = &*reader, .bytes = file.size()}}, file.size(), info, state,
             info.segment > 0);
  return loader.finish();
}

Result<Trace> load_trace(const std::string& path, const TraceReadOptions& options) {
  const auto recording = Recording::open({path}, Recording::Scope::kFile,
                                         {.verify_checksums = options.verify_checksums});
  if (!recording) return recording.status();
  RunLoader loader(path, options);
  loader.add(*recording, "");
  return loader.finish();
}

Result<Trace> load_run(const std::string& folder, const TraceReadOptions& options) {
  auto recordings = find_recordings(folder);
  if (!recordings) return recordings.status();
  RunLoader loader(folder, options);
  Status fault = Status::error(folder + ": no recordings in this folder");
  std::vector<std::pair<Recording, std::string>> opened;
  size_t of_programs = 0;
  for (std::vector<std::string>& paths : *recordings) {
    const std::string name = std::filesystem::path(paths.front()).filename().string();
    auto recording = Recording::open(std::move(paths), Recording::Scope::kAll,
                                     {.verify_checksums = options.verify_checksums});
    of_programs += !recording || !recording->info().is_beside_calls;
    if (!recording) {
      fault = recording.status();
      continue;
    }
    opened.emplace_back(*std::move(recording), name + ": ");
  }
  if (opened.empty()) return fault;
  // What samplers saw belongs to processes and threads that the others tell of.
  std::stable_partition(opened.begin(), opened.end(),
                        [](const auto& one) { return !one.first.info().is_sampler(); });
  for (const auto& [recording, prefix] : opened) {
    loader.add(recording, of_programs > 1 ? prefix : "");
  }
  return loader.finish();
}

}  // namespace stepscope
