#include "analyze/sync_calls.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "analyze/int_args.h"

namespace stepscope {
namespace {

struct WorkEnd {
  int64_t end_ns;
  uint32_t row;
};

// Ends of work, of all streams or of one.
class WorkEnds {
 public:
  explicit WorkEnds(const DeviceSlices& work) {
    for (const DeviceStream& stream : work.streams()) {
      std::vector<WorkEnd>& ends = by_stream_[stream.stream];
      for (const DeviceSlice& slice : work.of_stream(stream)) {
        ends.push_back({slice.end_ns, slice.row});
        all_.push_back(ends.back());
      }
    }
    const auto is_earlier = [](const WorkEnd& a, const WorkEnd& b) { return a.end_ns < b.end_ns; };
    std::stable_sort(all_.begin(), all_.end(), is_earlier);
    for (auto& [stream, ends] : by_stream_) std::stable_sort(ends.begin(), ends.end(), is_earlier);
  }

  // The last one in (begin, end]; a stream of -1 is all.
  std::optional<WorkEnd> find_last(int64_t begin_ns, int64_t end_ns, int64_t stream) const {
    const std::vector<WorkEnd>* ends = &all_;
    if (const auto it = by_stream_.find(stream); it != by_stream_.end()) ends = &it->second;
    const auto after = std::upper_bound(
        ends->begin(), ends->end(), end_ns,
        [](int64_t wanted_ns, const WorkEnd& end) { return wanted_ns < end.end_ns; });
    if (after == ends->begin() || std::prev(after)->end_ns <= begin_ns) return std::nullopt;
    return *std::prev(after);
  }

 private:
  std::vector<WorkEnd> all_;
  std::map<int64_t, std::vector<WorkEnd>> by_stream_;
};

}  // namespace

bool is_sync_call(std::string_view name) {
  if (name.find("Synchronize") != name.npos || name.starts_with("synchronize")) return true;
  // SYCL's, of today and before 2024. urEnqueueEventsWait only makes the queue wait.
  return name == "urQueueFinish" || name == "urEventWait" || name == "piQueueFinish" ||
         name == "piEventsWait";
}

bool is_copy_call(std::string_view name) { return name.find("Memcpy") != name.npos; }

std::unordered_map<int64_t, SyncEvent> find_sync_events(const Trace& trace) {
  std::unordered_map<int64_t, SyncEvent> events;
  const ArgColumn* correlations = trace.find_args("correlation", ArgType::kInt);
  if (correlations == nullptr) return events;
  constexpr int64_t kAllStreams = UINT32_MAX;  // how some versions of CUPTI write -1
  IntArgs streams(trace, "stream");
  IntArgs waits(trace, "wait_on_stream");
  IntArgs records(trace, "wait_on_cuda_event_record_corr_id");
  for (size_t i = 0; i < correlations->rows.size(); ++i) {
    const uint32_t row = index(correlations->rows[i]);
    if (trace.labels()[trace.slices().label[row]].kind != SliceKind::kSync) continue;
    SyncEvent event;
    event.row = row;
    event.stream = streams.find(row).value_or(-1);
    if (event.stream == kAllStreams) event.stream = -1;
    event.wait_on_stream = waits.find(row).value_or(-1);
    event.record_correlation = records.find(row).value_or(-1);
    events.try_emplace(correlations->ints[i], event);
  }
  return events;
}

std::vector<SyncCall> find_sync_calls(const Trace& trace, const DeviceSlices& work) {
  enum CallClass : uint8_t { kOtherCall, kSyncCall, kCopyCall };
  std::vector<CallClass> classes;
  for (const Label& label : trace.labels().all()) {
    const std::string_view name = trace.string(label.name);
    const bool is_call = label.kind == SliceKind::kRuntime;
    classes.push_back(is_call && is_sync_call(name)   ? kSyncCall
                      : is_call && is_copy_call(name) ? kCopyCall
                                                      : kOtherCall);
  }
  const WorkEnds ends(work);
  const auto events = find_sync_events(trace);
  std::unordered_map<uint32_t, const DeviceSlice*> copies;  // by the row of their call
  for (const DeviceSlice& slice : work.all()) {
    if (slice.call != kNoRow && slice.type == WorkType::kMemory) copies[slice.call] = &slice;
  }
  const SliceColumns& slices = trace.slices();
  IntArgs correlations(trace, "correlation");
  std::vector<SyncCall> found;
  for (uint32_t row = 0; row < slices.size(); ++row) {
    const CallClass call_class = classes[index(slices.label[row])];
    if (call_class == kOtherCall) continue;
    SyncCall call{.row = row};
    const int64_t begin_ns = slices.start_ns[row];
    const int64_t end_ns = slices.end_ns(row);
    if (call_class == kCopyCall) {
      const auto copy = copies.find(row);
      if (copy == copies.end() || copy->second->end_ns > end_ns) continue;
      call.work = copy->second->row;
      call.wait_ns = std::max<int64_t>(0, copy->second->end_ns - begin_ns);
    } else {
      int64_t stream = -1;
      if (const auto correlation = correlations.find(row)) {
        if (const auto event = events.find(*correlation); event != events.end()) {
          const SyncEvent& sync = event->second;
          stream = sync.wait_on_stream >= 0 ? sync.wait_on_stream : sync.stream;
        }
      }
      if (const auto last = ends.find_last(begin_ns, end_ns, stream)) {
        call.work = last->row;
        call.wait_ns = last->end_ns - begin_ns;
      }
    }
    found.push_back(call);
  }
  return found;
}

}  // namespace stepscope
