// The view `launches`: how the host feeds the devices. A launch is a runtime call and a piece of
// work with its correlation id; its delay is from the end of the call to the begin of the work, at
// least 0. By name of the call; --by call each launch, --by stream the queue of each stream, --by
// time how long that queue was.
//
// - short: work that took less than the call that launched it.
// - slow_calls: calls of more than 50 us; late: delays of more than 100 us.
// - blocked_ns: time in which a stream's queue was full (queue_lengths.h).
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analyze/device_slices.h"
#include "analyze/gpu_breakdown.h"
#include "analyze/int_args.h"
#include "analyze/quantile.h"
#include "analyze/queue_lengths.h"
#include "analyze/slice_filter.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

constexpr int64_t kSlowCallNs = 50'000;
constexpr int64_t kLateNs = 100'000;

struct LaunchTimes {
  int64_t call_ns;
  int64_t work_ns;
  int64_t delay_ns;
};

LaunchTimes find_launch_times(const Trace& trace, const DeviceSlice& slice) {
  const SliceColumns& slices = trace.slices();
  return {.call_ns = slices.dur_ns[slice.call],
          .work_ns = slice.end_ns - slice.start_ns,
          .delay_ns = std::max<int64_t>(0, slice.start_ns - slices.end_ns(slice.call))};
}

// --range goes by the call, --track by the stream.
bool is_launch_taken(const Trace& trace, const SliceFilter& filter, const DeviceSlice& slice) {
  if (slice.call == kNoRow) return false;
  return filter.takes_all() || (filter.takes_time(trace.slices().start_ns[slice.call]) &&
                                filter.takes_track(trace.find_track_of(SliceId{slice.row})));
}

Table make_by_name(const Trace& trace, const DeviceSlices& work, const SliceFilter& filter) {
  struct Launched {
    std::set<uint32_t> calls;  // a graph's launch starts many
    int64_t call_ns = 0;
    int64_t work_ns = 0;
    int64_t delay_ns = 0;
    uint64_t short_work = 0;
    uint64_t slow_calls = 0;
    uint64_t late = 0;
    std::vector<int64_t> delays;
  };
  std::map<StringId, Launched> by_name;
  for (const DeviceSlice& slice : work.all()) {
    if (!is_launch_taken(trace, filter, slice)) continue;
    const LaunchTimes times = find_launch_times(trace, slice);
    Launched& launched = by_name[trace.labels()[trace.slices().label[slice.call]].name];
    if (launched.calls.insert(slice.call).second) {
      launched.call_ns += times.call_ns;
      launched.slow_calls += times.call_ns > kSlowCallNs;
    }
    launched.work_ns += times.work_ns;
    launched.delay_ns += times.delay_ns;
    launched.short_work += times.work_ns < times.call_ns;
    launched.late += times.delay_ns > kLateNs;
    launched.delays.push_back(times.delay_ns);
  }
  Table table("launches");
  Column& name = table.add("name", ColumnType::kString);
  Column& calls = table.add("calls", ColumnType::kInt, Unit::kCount);
  Column& launched_column = table.add("launched", ColumnType::kInt, Unit::kCount);
  Column& call_ns = table.add("call_ns", ColumnType::kInt, Unit::kNs);
  Column& mean_call = table.add("mean_call_ns", ColumnType::kInt, Unit::kNs);
  Column& work_ns = table.add("work_ns", ColumnType::kInt, Unit::kNs);
  Column& mean_delay = table.add("mean_delay_ns", ColumnType::kInt, Unit::kNs);
  Column& median_delay = table.add("median_delay_ns", ColumnType::kInt, Unit::kNs);
  Column& p95_delay = table.add("p95_delay_ns", ColumnType::kInt, Unit::kNs);
  Column& max_delay = table.add("max_delay_ns", ColumnType::kInt, Unit::kNs);
  Column& short_work = table.add("short", ColumnType::kInt, Unit::kCount);
  Column& short_share = table.add("short_fraction", ColumnType::kDouble, Unit::kFraction);
  Column& slow_calls = table.add("slow_calls", ColumnType::kInt, Unit::kCount);
  Column& late = table.add("late", ColumnType::kInt, Unit::kCount);
  for (auto& [id, launched] : by_name) {
    const auto count = static_cast<int64_t>(launched.delays.size());
    const auto call_count = static_cast<int64_t>(launched.calls.size());
    name.push(trace.string(id));
    calls.push(call_count);
    launched_column.push(count);
    call_ns.push(launched.call_ns);
    mean_call.push(launched.call_ns / call_count);
    work_ns.push(launched.work_ns);
    mean_delay.push(launched.delay_ns / count);
    median_delay.push(quantile(launched.delays, 0.5));
    p95_delay.push(quantile(launched.delays, 0.95));
    max_delay.push(*std::max_element(launched.delays.begin(), launched.delays.end()));
    short_work.push(static_cast<int64_t>(launched.short_work));
    short_share.push(static_cast<double>(launched.short_work) / static_cast<double>(count));
    slow_calls.push(static_cast<int64_t>(launched.slow_calls));
    late.push(static_cast<int64_t>(launched.late));
  }
  table.default_sort = "-calls";
  return table;
}

Table make_by_call(const Trace& trace, const DeviceSlices& work, const SliceFilter& filter) {
  Table table("launches");
  Column& name = table.add("name", ColumnType::kString);
  Column& kernel = table.add("kernel", ColumnType::kString);
  Column& device = table.add("device", ColumnType::kInt);
  Column& number = table.add("stream", ColumnType::kInt);
  Column& correlation = table.add("correlation", ColumnType::kInt);
  Column& start = table.add("start_ns", ColumnType::kInt, Unit::kNs);
  Column& call = table.add("call_ns", ColumnType::kInt, Unit::kNs);
  Column& work_ns = table.add("work_ns", ColumnType::kInt, Unit::kNs);
  Column& delay = table.add("delay_ns", ColumnType::kInt, Unit::kNs);
  const ArgColumn* correlations = trace.find_args("correlation", ArgType::kInt);
  for (const DeviceStream& stream : work.streams()) {
    for (const DeviceSlice& slice : work.of_stream(stream)) {
      if (!is_launch_taken(trace, filter, slice)) continue;
      const LaunchTimes times = find_launch_times(trace, slice);
      name.push(trace.slice_name(SliceId{slice.call}));
      kernel.push(trace.slice_name(SliceId{slice.row}));
      push_device_number(device, stream.device);
      number.push(stream.stream);
      // It is what the call was found by.
      correlation.push(correlations->ints[*correlations->find(SliceId{slice.row})]);
      start.push(trace.slices().start_ns[slice.call] - trace.begin_ns());
      call.push(times.call_ns);
      work_ns.push(times.work_ns);
      delay.push(times.delay_ns);
    }
  }
  table.default_sort = "+start_ns";
  return table;
}

Table make_by_stream(const Trace& trace, const DeviceSlices& work) {
  Table table("launches");
  Column& device = table.add("device", ColumnType::kInt);
  Column& number = table.add("stream", ColumnType::kInt);
  Column& launches_column = table.add("launched", ColumnType::kInt, Unit::kCount);
  Column& mean = table.add("mean_queue", ColumnType::kDouble);
  Column& deviation = table.add("deviation_queue", ColumnType::kDouble);
  Column& median = table.add("median_queue", ColumnType::kInt, Unit::kCount);
  Column& max = table.add("max_queue", ColumnType::kInt, Unit::kCount);
  Column& time_mean = table.add("time_mean_queue", ColumnType::kDouble);
  Column& empty = table.add("empty_ns", ColumnType::kInt, Unit::kNs);
  Column& blocked = table.add("blocked_ns", ColumnType::kInt, Unit::kNs);
  Column& blocked_share = table.add("blocked_fraction", ColumnType::kDouble, Unit::kFraction);
  const auto trace_ns = static_cast<double>(trace.end_ns() - trace.begin_ns());
  for (const DeviceStream& stream : work.streams()) {
    const std::vector<QueueChange> changes = find_queue_changes(trace, work, stream);
    if (changes.empty()) continue;
    std::vector<int64_t> lengths;
    double sum = 0;
    double weighted_ns = 0;
    int64_t empty_ns = 0;
    int64_t blocked_ns = 0;
    for (size_t i = 0; i < changes.size(); ++i) {
      lengths.push_back(changes[i].length);
      sum += static_cast<double>(changes[i].length);
      if (i + 1 == changes.size()) break;
      const int64_t dur_ns = changes[i + 1].time_ns - changes[i].time_ns;
      weighted_ns += static_cast<double>(changes[i].length) * static_cast<double>(dur_ns);
      if (changes[i].length == 0) empty_ns += dur_ns;
      if (changes[i].length >= kFullQueue) blocked_ns += dur_ns;
    }
    const auto count = static_cast<double>(changes.size());
    const double mean_length = sum / count;
    double squares = 0;
    for (const int64_t length : lengths) {
      squares += std::pow(static_cast<double>(length) - mean_length, 2);
    }
    const int64_t span_ns = changes.back().time_ns - changes.front().time_ns;
    push_device_number(device, stream.device);
    number.push(stream.stream);
    launches_column.push(static_cast<int64_t>(changes.size() / 2));
    mean.push(mean_length);
    deviation.push(std::sqrt(squares / (count - 1)));  // at least two: a launch and a begin
    max.push(*std::max_element(lengths.begin(), lengths.end()));
    median.push(quantile(lengths, 0.5));
    time_mean.push(span_ns > 0 ? weighted_ns / static_cast<double>(span_ns) : 0.0);
    empty.push(empty_ns);
    blocked.push(blocked_ns);
    blocked_share.push(trace_ns > 0 ? static_cast<double>(blocked_ns) / trace_ns : 0.0);
  }
  return table;
}

Table make_by_time(const Trace& trace, const DeviceSlices& work, const SliceFilter& filter) {
  Table table("launches");
  Column& device = table.add("device", ColumnType::kInt);
  Column& number = table.add("stream", ColumnType::kInt);
  Column& time = table.add("time_ns", ColumnType::kInt, Unit::kNs);
  Column& length = table.add("queue_length", ColumnType::kInt, Unit::kCount);
  for (const DeviceStream& stream : work.streams()) {
    for (const QueueChange& change : find_queue_changes(trace, work, stream)) {
      if (!filter.takes_time(change.time_ns)) continue;
      push_device_number(device, stream.device);
      number.push(stream.stream);
      time.push(change.time_ns - trace.begin_ns());
      length.push(change.length);
    }
  }
  return table;
}

}  // namespace

Result<Table> launch_stats(const Trace& trace, const TableOptions& options) {
  const Result<SliceFilter> filter = SliceFilter::make(trace, options);
  if (!filter) return filter.status();
  const auto work = DeviceSlices::of(trace);
  Table table("launches");
  if (options.by.empty()) {
    table = make_by_name(trace, *work, *filter);
  } else if (options.by == "call") {
    table = make_by_call(trace, *work, *filter);
  } else if (options.by == "stream") {
    table = make_by_stream(trace, *work);
  } else if (options.by == "time") {
    table = make_by_time(trace, *work, *filter);
  } else {
    return Status::error("--by " + options.by + ": launches can be shown by call, stream or time");
  }
  add_device_notes(table, *work);
  return table;
}

}  // namespace stepscope
