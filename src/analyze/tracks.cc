// The view `tracks`: the lanes of the trace, how much is on each, and how busy it was. Times are
// from the trace's begin, as --range takes them.
#include "analyze/sampled_threads.h"
#include "analyze/slice_filter.h"
#include "analyze/views.h"
#include "trace/track_title.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace stepscope {
namespace {

struct TrackSummary {
  int64_t slices = 0;
  int64_t busy_ns = 0;  // during which at least one slice was open
  int64_t begin_ns = INT64_MAX;
  int64_t end_ns = INT64_MIN;
};

TrackSummary summarize(const Trace& trace, const Track& track, const SliceFilter& filter) {
  TrackSummary summary;
  const SliceColumns& slices = trace.slices();
  int64_t covered_until_ns = INT64_MIN;
  for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
    const int64_t start_ns = slices.start_ns[row];
    if (!filter.takes_time(start_ns)) continue;
    const int64_t end_ns = slices.end_ns(row);
    ++summary.slices;
    summary.begin_ns = std::min(summary.begin_ns, start_ns);
    summary.end_ns = std::max(summary.end_ns, end_ns);
    // Rows come by start, so that the union grows at its end only.
    if (end_ns > covered_until_ns) {
      summary.busy_ns += end_ns - std::max(start_ns, covered_until_ns);
      covered_until_ns = end_ns;
    }
  }
  return summary;
}

// samples, sampled_ns, cpu_ns, waiting_ns; no columns where the trace has no samples.
class SampleFigures {
 public:
  SampleFigures(Table& table, bool has_samples) {
    if (!has_samples) return;
    samples_ = &table.add("samples", ColumnType::kInt, Unit::kCount);
    sampled_ = &table.add("sampled_ns", ColumnType::kInt, Unit::kNs);
    cpu_ = &table.add("cpu_ns", ColumnType::kInt, Unit::kNs);
    waiting_ = &table.add("waiting_ns", ColumnType::kInt, Unit::kNs);
  }

  void push(const SampledThread* thread) {
    if (samples_ == nullptr) return;
    const auto push_to = [](Column& column, std::optional<int64_t> value) {
      value ? column.push(*value) : column.push_null();
    };
    const bool is_known = thread != nullptr;
    push_to(*samples_,
            is_known ? std::optional(static_cast<int64_t>(thread->samples)) : std::nullopt);
    push_to(*sampled_, is_known ? std::optional(thread->wall_ns) : std::nullopt);
    push_to(*cpu_, is_known ? thread->cpu_ns : std::nullopt);
    push_to(*waiting_, is_known ? thread->waiting_ns : std::nullopt);
  }

 private:
  Column *samples_ = nullptr, *sampled_ = nullptr, *cpu_ = nullptr, *waiting_ = nullptr;
};

}  // namespace

Result<Table> tracks(const Trace& trace, const TableOptions& options) {
  Result<SliceFilter> filter = SliceFilter::make(trace, options);
  if (!filter) return filter.status();
  Table table("tracks");
  Column& id = table.add("track", ColumnType::kInt);
  Column& name = table.add("name", ColumnType::kString);
  Column& kind = table.add("kind", ColumnType::kString);
  Column& slice_count = table.add("slices", ColumnType::kInt, Unit::kCount);
  Column& busy = table.add("busy_ns", ColumnType::kInt, Unit::kNs);
  Column& busy_fraction = table.add("busy_fraction", ColumnType::kDouble, Unit::kFraction);
  const std::vector<SampledThread> sampled = sampled_threads(trace, filter->scope());
  std::vector<const SampledThread*> samples_of(trace.tracks().size(), nullptr);
  for (const SampledThread& thread : sampled) samples_of[index(thread.track)] = &thread;
  SampleFigures samples(table, !sampled.empty());
  Column& begin = table.add("begin_ns", ColumnType::kInt, Unit::kNs);
  Column& end = table.add("end_ns", ColumnType::kInt, Unit::kNs);
  Column& values = table.add("counter_values", ColumnType::kInt, Unit::kCount);
  Column& process = table.add("process", ColumnType::kString);
  Column& pid = table.add("pid", ColumnType::kString);
  Column& tid = table.add("tid", ColumnType::kString);

  uint64_t empty_tracks = 0;
  const double span_ns = static_cast<double>(trace.end_ns() - trace.begin_ns());
  for (uint32_t i = 0; i < trace.tracks().size(); ++i) {
    if (!filter->takes_track(TrackId{i})) continue;
    const Track& track = trace.tracks()[i];
    const SampledThread* const thread = samples_of[i];
    if (track.slice_count == 0 && track.value_count == 0 && thread == nullptr) {
      ++empty_tracks;
      continue;
    }
    TrackSummary summary = summarize(trace, track, *filter);
    if (thread != nullptr) {
      summary.begin_ns = std::min(summary.begin_ns, thread->begin_ns);
      summary.end_ns = std::max(summary.end_ns, thread->end_ns);
    }
    samples.push(thread);
    id.push(int64_t{i});
    name.push(track_title(trace, TrackId{i}));
    kind.push(track_kind_name(track.kind));
    slice_count.push(summary.slices);
    busy.push(summary.busy_ns);
    if (span_ns > 0) {
      busy_fraction.push(static_cast<double>(summary.busy_ns) / span_ns);
    } else {
      busy_fraction.push_null();
    }
    if (summary.slices > 0 || thread != nullptr) {
      begin.push(summary.begin_ns - trace.begin_ns());
      end.push(summary.end_ns - trace.begin_ns());
    } else {
      begin.push_null();
      end.push_null();
    }
    if (track.kind == TrackKind::kCounter) {
      values.push(static_cast<int64_t>(track.value_count));
    } else {
      values.push_null();
    }
    if (track.process < trace.processes().size()) {
      const Process& owner = trace.processes()[track.process];
      process.push(trace.string(owner.name));
      pid.push(trace.id_text(owner.pid));
    } else {
      process.push_null();
      pid.push_null();
    }
    tid.push(trace.id_text(track.tid));
  }
  if (const std::string text = sampling_text(trace); !text.empty()) {
    table.notes.push_back("sampled " + text);
  }
  if (empty_tracks > 0) {
    table.notes.push_back(std::to_string(empty_tracks) + " tracks without events are left out");
  }
  return table;
}

}  // namespace stepscope
