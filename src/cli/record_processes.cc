#include "cli/record_processes.h"

#include <fmt/format.h>
#include <sys/types.h>

#include <memory>
#include <utility>

#include "base/tick_clock.h"
#include "cli/commands.h"
#include "cli/load_trace.h"
#include "cli/process_ids.h"
#include "cli/quantity.h"
#include "cli/record_output.h"
#include "cli/record_progress.h"
#include "cli/run_report.h"
#include "cli/stop_signals.h"
#include "collect/native/native_stack.h"
#include "collect/sample/python_process.h"
#include "collect/sample/sample_file.h"
#include "collect/sample/sample_recording.h"
#include "collect/sample/sampler.h"

namespace stepscope::cli {
namespace {

constexpr const char* kRecordProcessesCommand = "record";
constexpr int64_t kSecondNs = 1'000'000'000;

sample::SamplerOptions sampler_options(const RecordProcessesOptions& options) {
  sample::SamplerOptions result;
  result.period_ns = kSecondNs / options.hz;
  result.with_children = options.with_children;
  result.only_with_gil = options.only_with_gil;
  result.pause = options.pause;
  result.native = options.native;
  result.make_unwinder = sample::make_native_stacks;
  return result;
}

// One line for each process that can not be sampled. A look into it, before anything is made.
bool can_sample_all(const std::vector<pid_t>& pids) {
  bool can = true;
  for (const pid_t pid : pids) {
    const auto python = sample::PythonProcess::find(pid);
    if (python) continue;
    print_fault(python.status());
    can = false;
  }
  return can;
}

struct Sampled {
  sample::SamplerCounts counts;
  bool has_targets = false;  // some still run
  Status status;             // of writing
};

// Writes what it sees until it is told to stop, the time is over, or the programs are.
class Recorder {
 public:
  Recorder(const sample::SamplerOptions& options, int64_t duration_ns, bool shows_progress,
           sample::SampleFile& file)
      : recording_(file, options),
        sampler_(options, recording_),
        progress_(shows_progress),
        duration_ns_(duration_ns) {}

  Status add(const std::vector<pid_t>& pids) {
    for (const pid_t pid : pids) {
      if (Status status = sampler_.add(pid); !status) return status;
    }
    return {};
  }

  Sampled run() {
    begin_ns_ = read_clock_ns(CLOCK_MONOTONIC);
    sampler_.run(duration_ns_, [this] { return must_stop(); });
    Sampled sampled;
    sampled.has_targets = sampler_.has_targets();
    sampler_.finish();
    progress_.clear();
    sampled.status = recording_.close(sampler_.counts());
    sampled.counts = sampler_.counts();
    return sampled;
  }

 private:
  bool must_stop() {
    recording_.set_counts(sampler_.counts());
    progress_.show(read_clock_ns(CLOCK_MONOTONIC) - begin_ns_, sampler_.counts());
    return StopSignals::is_asked() || !recording_.status();
  }

  sample::SampleRecording recording_;
  sample::Sampler sampler_;
  RecordProgress progress_;
  const int64_t duration_ns_;
  int64_t begin_ns_ = 0;
};

std::string describe(const std::vector<pid_t>& pids) {
  if (pids.size() > 1) return fmt::format("{} processes", pids.size());
  return fmt::format("process {} ({})", pids.front(), sample::read_command_line(pids.front()));
}

std::string why_nothing(const std::vector<pid_t>& pids, const Sampled& sampled,
                        const RecordProcessesOptions& options) {
  const std::string who =
      pids.size() > 1 ? "the processes" : "process " + std::to_string(pids.front());
  if (!sampled.has_targets) {
    return who +
           ": ended before the first sample; `stepscope run --mode sample` records a program from "
           "its start";
  }
  if (options.only_with_gil && sampled.counts.ticks > 0) {
    return fmt::format(
        "{}: no thread held the GIL in {} looks; leave out --gil to see what they do", who,
        sampled.counts.ticks);
  }
  if (sampled.counts.torn > 0) {
    return who + ": its stacks changed in each of the looks; --pause stops it for each of them";
  }
  return who + ": no Python function was running; `stepscope dump` shows its threads";
}

// What the user gets: tables on stderr, and the file that was asked for.
int tell(const RecordProcessesOptions& options, RecordOutput& output) {
  const std::string weight = options.with_idle ? "wall" : "";
  if (!output.is_export()) {
    if (!options.quiet) print_run_report(output.path(), weight);
    return kExitFine;
  }
  const auto trace = load_trace(output.recording_path());
  if (!trace) return print_fault(trace.status());
  const SampleWeight sample_weight =
      options.with_idle ? SampleWeight::kWall : SampleWeight::kCpuWhereKnown;
  const auto left_out = output.write(*trace, {.sample_weight = sample_weight});
  if (!left_out) {
    return print_fault(Status::error(left_out.status().message() + "; the recording is in " +
                                     output.recording_path()));
  }
  if (options.quiet) return kExitFine;
  print_trace_report(*trace, weight);
  for (const std::string& what : *left_out) print_remark(output.path() + ": left out " + what);
  print_remark("written: " + output.path());
  return kExitFine;
}

int record(const RecordProcessesOptions& options, const std::vector<pid_t>& pids,
           int64_t duration_ns) {
  auto output =
      RecordOutput::plan(options.output, {pids, options.with_children}, options.overwrite);
  if (!output) return print_usage_error(kRecordProcessesCommand, output.status().message());
  if (!can_sample_all(pids)) return kExitFault;
  if (Status status = output->prepare(); !status) return print_fault(status);
  const StopSignals stop;
  const sample::SamplerOptions how = sampler_options(options);
  auto file = sample::SampleFile::create(output->recording_path(), sample::describe_sampling(how));
  if (!file) {
    output->discard();
    return print_fault(file.status());
  }
  Recorder recorder(how, duration_ns, !options.quiet, **file);
  if (Status status = recorder.add(pids); !status) {
    output->discard();
    return print_fault(status);
  }
  if (!options.quiet) {
    print_remark(
        fmt::format("recording {}, {} times a second; Ctrl-C ends it", describe(pids), options.hz));
  }
  const Sampled sampled = recorder.run();
  if (!sampled.status) {
    return print_fault(Status::error(
        sampled.status.message() + "; what was recorded before is in " + output->recording_path()));
  }
  if (sampled.counts.samples == 0) {
    output->discard();
    return print_fault(Status::error(why_nothing(pids, sampled, options)));
  }
  return tell(options, *output);
}

}  // namespace

int record_processes(const RecordProcessesOptions& options) {
  const auto pids = parse_process_ids(options.pids);
  if (!pids) return print_usage_error(kRecordProcessesCommand, pids.status().message());
  int64_t duration_ns = 0;
  if (!options.duration.empty()) {
    const Result<int64_t> parsed = parse_duration_ns(options.duration);
    if (!parsed)
      return print_usage_error(kRecordProcessesCommand, "--duration " + parsed.status().message());
    if (*parsed <= 0) {
      return print_usage_error(kRecordProcessesCommand,
                               "--duration " + options.duration + ": must be more than 0");
    }
    duration_ns = *parsed;
  }
  return record(options, *pids, duration_ns);
}

}  // namespace stepscope::cli
