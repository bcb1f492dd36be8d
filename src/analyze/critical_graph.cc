#include "analyze/critical_graph.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "analyze/int_args.h"
#include "analyze/queue_lengths.h"
#include "analyze/sync_calls.h"

namespace stepscope {
namespace {

using std::string_view;

constexpr uint32_t kNoCriticalNode = UINT32_MAX;
constexpr int32_t kAnyDevice = INT32_MIN;
// Work that begins later than this after the work before it waited for something unknown.
constexpr int64_t kLongestKernelDelayNs = 1'500'000;

bool needs_runtime_lock(string_view name) {
  return name == "cudaHostAlloc" || name == "cudaLaunchKernel" || name == "cudaMemcpyAsync";
}

bool is_blocking(string_view name) {
  constexpr std::array<string_view, 3> kOthers = {"cudaEventQuery", "cudaMemcpy",
                                                  "cudaMemcpyAsync"};
  return is_sync_call(name) || std::find(kOthers.begin(), kOthers.end(), name) != kOthers.end();
}

}  // namespace

string_view critical_edge_name(CriticalEdgeType type) {
  constexpr std::array<string_view, kCriticalEdgeTypes> kNames = {
      "critical_path_operator", "critical_path_dependency", "critical_path_kernel_launch_delay",
      "critical_path_kernel_kernel_delay", "critical_path_sync_dependency"};
  return kNames[static_cast<size_t>(type)];
}

class CriticalGraph::Builder {
 public:
  Builder(const Trace& trace, const Interval& window, CriticalGraph& graph)
      : trace_(trace),
        slices_(trace.slices()),
        window_(window),
        work_(*DeviceSlices::of(trace)),
        graph_(graph),
        first_node_(slices_.size(), kNoCriticalNode),
        last_node_(slices_.size(), kNoCriticalNode) {
    for (const Label& label : trace.labels().all()) {
      const string_view name = trace.string(label.name);
      const bool is_call = label.kind == SliceKind::kRuntime;
      needs_lock_.push_back(is_call && needs_runtime_lock(name));
      is_blocking_.push_back(is_call && is_blocking(name));
      graph.has_sync_events_ |= label.kind == SliceKind::kSync;
    }
  }

  void build() {
    add_nodes();
    connect_calls_that_need_the_lock();
    connect_threads();
    connect_work();
  }

 private:
  bool is_host_taken(uint32_t row) const {
    return window_.begin_ns <= slices_.start_ns[row] && slices_.start_ns[row] <= window_.end_ns &&
           slices_.dur_ns[row] > 0;
  }
  bool is_work_taken(const DeviceSlice& slice) const {
    return slice.call != kNoRow && is_host_taken(slice.call);
  }
  bool has_nodes(uint32_t row) const {
    return row != kNoRow && first_node_[row] != kNoCriticalNode;
  }
  LabelId label_of_node(uint32_t node) const { return slices_.label[graph_.nodes_[node].row]; }

  void add_nodes() {
    std::vector<CriticalNode>& nodes = graph_.nodes_;
    const auto add = [&](uint32_t row) {
      nodes.push_back({slices_.start_ns[row], row, true});
      nodes.push_back({slices_.end_ns(row), row, false});
    };
    for (const Track& track : trace_.tracks()) {
      if (track.kind == TrackKind::kStream) continue;
      for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
        const SliceKind kind = trace_.labels()[slices_.label[row]].kind;
        const bool is_wanted = kind == SliceKind::kOperator || kind == SliceKind::kRuntime;
        if (is_wanted && is_host_taken(row)) add(row);
      }
    }
    for (const DeviceSlice& slice : work_.all()) {
      if (is_work_taken(slice)) add(slice.row);
    }
    std::sort(nodes.begin(), nodes.end(), [](const CriticalNode& a, const CriticalNode& b) {
      return std::tuple(a.time_ns, a.row, !a.is_start) < std::tuple(b.time_ns, b.row, !b.is_start);
    });
    is_connected_.assign(nodes.size(), 0);
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      (nodes[i].is_start ? first_node_ : last_node_)[nodes[i].row] = i;
    }
  }

  // No two nodes are ever connected twice: threads and locks leave each other's pairs out.
  void connect(uint32_t from, uint32_t to, CriticalEdgeType type, bool is_free = false,
               uint32_t event = kNoRow) {
    if (from == to) return;
    const bool has_weight =
        !is_free && type != CriticalEdgeType::kDependency && type != CriticalEdgeType::kSync;
    CriticalEdge edge{.from = from, .to = to, .type = type, .event = event};
    // Where clocks disagree it would be below 0.
    if (has_weight) {
      edge.weight_ns =
          std::max<int64_t>(0, graph_.nodes_[to].time_ns - graph_.nodes_[from].time_ns);
    }
    graph_.edges_.push_back(edge);
    for (const uint32_t node : {from, to}) {
      if (is_connected_[node] != 0) continue;
      is_connected_[node] = 1;
      graph_.connected_.push_back(node);
    }
  }

  // Of an edge within a thread; `parent` is that of the slice of `from`.
  uint32_t find_owner(uint32_t from, uint32_t to, uint32_t parent) const {
    if (graph_.nodes_[from].is_start) return graph_.nodes_[from].row;
    if (!graph_.nodes_[to].is_start) return graph_.nodes_[to].row;
    return parent;
  }

  // Calls that need the runtime's lock can overlap, but only one of them goes on: they are taken to
  // get it in the order in which they end.
  void connect_calls_that_need_the_lock() {
    std::vector<uint32_t> waiting;
    uint32_t last = kNoCriticalNode;
    for (uint32_t node = 0; node < graph_.nodes_.size(); ++node) {
      if (!needs_lock_[index(label_of_node(node))]) continue;
      if (graph_.nodes_[node].is_start) {
        waiting.push_back(node);
      } else {
        for (; !waiting.empty(); waiting.pop_back()) {
          const uint32_t begin = waiting.back();
          const uint32_t row = graph_.nodes_[node].row;
          if (graph_.nodes_[begin].row == row) {
            connect(begin, node, CriticalEdgeType::kOperator, false, row);
          } else {
            connect(begin, node, CriticalEdgeType::kDependency);
          }
        }
        if (last != kNoCriticalNode && !graph_.nodes_[last].is_start) {
          connect(last, node, CriticalEdgeType::kDependency);
        }
      }
      last = node;
    }
  }

  bool share_lock(uint32_t first, uint32_t second) const {
    return needs_lock_[index(label_of_node(first))] && needs_lock_[index(label_of_node(second))] &&
           (graph_.nodes_[first].is_start || !graph_.nodes_[second].is_start);
  }

  // The one thread whose operators or annotations have such names, if it is one.
  std::optional<uint32_t> find_only_thread(string_view part) const {
    std::vector<uint8_t> is_wanted;
    for (const Label& label : trace_.labels().all()) {
      const bool is_kind = label.kind == SliceKind::kOperator ||
                           label.kind == SliceKind::kAnnotation || label.kind == SliceKind::kStep;
      is_wanted.push_back(is_kind && trace_.string(label.name).find(part) != string_view::npos);
    }
    std::optional<uint32_t> found;
    for (uint32_t number = 0; number < trace_.tracks().size(); ++number) {
      const Track& track = trace_.tracks()[number];
      if (track.kind != TrackKind::kThread) continue;
      for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
        if (!is_wanted[index(slices_.label[row])] || !is_host_taken(row)) continue;
        if (found) return std::nullopt;
        found = number;
        break;
      }
    }
    return found;
  }

  void connect_threads() {
    // Autograd's thread goes on where the training thread waits for it: together they are one.
    const auto forward = find_only_thread("forward");
    const auto backward = find_only_thread("autograd");
    const bool are_one = forward && backward && *forward != *backward;
    for (uint32_t number = 0; number < trace_.tracks().size(); ++number) {
      if (trace_.tracks()[number].kind != TrackKind::kThread) continue;
      if (are_one && number == *backward) continue;
      std::vector<uint32_t> tracks = {number};
      if (are_one && number == *forward) tracks.push_back(*backward);
      connect_thread(tracks);
    }
  }

  void connect_thread(const std::vector<uint32_t>& tracks) {
    struct Moment {
      int64_t time_ns;
      int64_t dur_ns;
      uint32_t row;
      bool is_start;
    };
    std::vector<Moment> moments;
    for (const uint32_t number : tracks) {
      const Track& track = trace_.tracks()[number];
      for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
        if (!is_host_taken(row)) continue;
        if (trace_.labels()[slices_.label[row]].kind == SliceKind::kSpan) continue;
        const int64_t dur_ns = slices_.dur_ns[row];
        moments.push_back({slices_.start_ns[row], dur_ns, row, true});
        moments.push_back({slices_.end_ns(row), dur_ns, row, false});
      }
    }
    // Ends before begins; the longer begins first and ends last.
    std::sort(moments.begin(), moments.end(), [](const Moment& a, const Moment& b) {
      if (a.time_ns != b.time_ns) return a.time_ns < b.time_ns;
      if (a.is_start != b.is_start) return !a.is_start;
      if (a.dur_ns != b.dur_ns) return a.is_start ? a.dur_ns > b.dur_ns : a.dur_ns < b.dur_ns;
      return a.is_start ? a.row < b.row : a.row > b.row;
    });
    std::vector<uint32_t> open;
    uint32_t last = kNoCriticalNode;
    uint32_t last_parent = kNoRow;
    uint64_t depth = 0;  // of what has nodes
    for (const Moment& moment : moments) {
      uint32_t row = moment.row;
      if (moment.is_start) {
        const uint32_t parent = open.empty() ? kNoRow : open.back();
        open.push_back(row);
        if (!has_nodes(row)) continue;
        const uint32_t begin = first_node_[row];
        if (last != kNoCriticalNode && !share_lock(last, begin)) {
          if (depth == 0) {
            connect(last, begin, CriticalEdgeType::kDependency);
          } else {
            connect(last, begin, CriticalEdgeType::kOperator, false,
                    find_owner(last, begin, last_parent));
          }
        }
        last = begin;
        last_parent = parent;
        ++depth;
        continue;
      }
      if (open.empty()) continue;
      row = open.back();  // where slices overlap it may be another's end
      open.pop_back();
      if (!has_nodes(row)) continue;
      const uint32_t end = last_node_[row];
      if (last != kNoCriticalNode && !share_lock(last, end)) {
        connect(last, end, CriticalEdgeType::kOperator, is_blocking_[index(slices_.label[row])],
                find_owner(last, end, last_parent));
      }
      last = end;
      last_parent = open.empty() ? kNoRow : open.back();
      --depth;
    }
  }

  // What happens on the devices, in order: work by its begin, synchronisation by its end.
  struct DeviceEvent {
    int64_t time_ns;
    bool is_work;
    uint32_t number;  // into the slices of work, or a row
    int64_t correlation;
  };

  void connect_work() {
    find_queues();
    find_launch_lists();
    std::vector<DeviceEvent> events;
    for (uint32_t i = 0; i < work_.all().size(); ++i) {
      if (is_work_taken(work_.all()[i])) events.push_back({work_.all()[i].start_ns, true, i, 0});
    }
    if (graph_.has_sync_events_) {
      sync_events_ = find_sync_events(trace_);
      for (const auto& [correlation, event] : sync_events_) {
        const uint32_t call = work_.find_call(correlation);
        if (call == kNoRow) continue;
        const bool is_stream_wait = trace_.slice_name(SliceId{event.row}) == "Stream Wait Event";
        if (!is_stream_wait && !is_host_taken(call)) continue;
        events.push_back({slices_.end_ns(event.row), false, event.row, correlation});
      }
    }
    std::sort(events.begin(), events.end(), [](const DeviceEvent& a, const DeviceEvent& b) {
      return std::tuple(a.time_ns, a.is_work, a.number) <
             std::tuple(b.time_ns, b.is_work, b.number);
    });
    last_of_stream_.assign(work_.streams().size(), kNoCriticalNode);
    for (const DeviceEvent& event : events) {
      if (event.is_work) {
        connect_slice(event.number);
      } else {
        connect_sync(event.correlation, sync_events_.at(event.correlation));
      }
    }
    if (!graph_.has_sync_events_) connect_inferred_syncs();
  }

  void find_queues() {
    queue_at_launch_.assign(work_.all().size(), -1);
    queue_at_start_.assign(work_.all().size(), -1);
    stream_of_.assign(work_.all().size(), 0);
    for (uint32_t number = 0; number < work_.streams().size(); ++number) {
      const DeviceStream& stream = work_.streams()[number];
      stream_numbers_.try_emplace({stream.stream, stream.device}, number);
      stream_numbers_.try_emplace({stream.stream, kAnyDevice}, number);
      for (uint32_t i = 0; i < stream.count; ++i) stream_of_[stream.first + i] = number;
      for (const QueueChange& change : find_queue_changes(trace_, work_, stream)) {
        (change.is_launch ? queue_at_launch_ : queue_at_start_)[change.slice] = change.length;
      }
    }
  }

  struct Launched {
    int64_t launch_ns;
    uint32_t slice;  // into the slices of work
    friend bool operator<(const Launched& a, const Launched& b) {
      return std::tuple(a.launch_ns, a.slice) < std::tuple(b.launch_ns, b.slice);
    }
  };

  // Launches by stream, and by thread and stream's number, in order of time.
  void find_launch_lists() {
    if (!graph_.has_sync_events_) return;
    by_stream_.resize(work_.streams().size());
    for (uint32_t i = 0; i < work_.all().size(); ++i) {
      const DeviceSlice& slice = work_.all()[i];
      if (slice.call == kNoRow) continue;
      const Launched launched{slices_.start_ns[slice.call], i};
      by_stream_[stream_of_[i]].push_back(launched);
      const uint32_t thread = index(trace_.find_track_of(SliceId{slice.call}));
      by_thread_[{thread, work_.streams()[stream_of_[i]].stream}].push_back(launched);
    }
    for (auto& list : by_stream_) std::sort(list.begin(), list.end());
    for (auto& [key, list] : by_thread_) std::sort(list.begin(), list.end());
  }

  std::optional<uint32_t> find_stream(int64_t number, int32_t device) const {
    // Files do not always tell the device.
    for (const int32_t wanted : {device, kAnyDevice}) {
      if (const auto it = stream_numbers_.find({number, wanted}); it != stream_numbers_.end()) {
        return it->second;
      }
    }
    return std::nullopt;
  }

  // The device of a synchronisation event: that of its process, as Kineto writes it.
  int32_t find_device(uint32_t row) const {
    const Track& track = trace_.tracks()[index(trace_.find_track_of(SliceId{row}))];
    if (track.device >= 0) return track.device;
    const ForeignId pid = trace_.processes()[track.process].pid;
    return pid.text == kEmptyString && pid.number >= 0 && pid.number < 4096
               ? static_cast<int32_t>(pid.number)
               : -1;
  }

  // The work that was launched last on the event's stream before the event was recorded.
  std::optional<uint32_t> find_recorded_work(const SyncEvent& event) const {
    if (event.record_correlation < 0 || event.wait_on_stream < 0) return std::nullopt;
    const uint32_t record = work_.find_call(event.record_correlation);
    if (record == kNoRow ||
        trace_.slice_name(SliceId{record}).find("EventRecord") == string_view::npos) {
      return std::nullopt;
    }
    const auto stream = find_stream(event.wait_on_stream, find_device(event.row));
    if (!stream) return std::nullopt;
    const std::vector<Launched>& list = by_stream_[*stream];
    const auto after =
        std::upper_bound(list.begin(), list.end(), Launched{slices_.start_ns[record], UINT32_MAX});
    if (after == list.begin()) return std::nullopt;
    return std::prev(after)->slice;
  }

  // The work that the thread launched next on the stream.
  std::optional<uint32_t> find_next_work(uint32_t call, int64_t stream) const {
    const auto list = by_thread_.find({index(trace_.find_track_of(SliceId{call})), stream});
    if (list == by_thread_.end()) return std::nullopt;
    const auto next = std::lower_bound(list->second.begin(), list->second.end(),
                                       Launched{slices_.start_ns[call], 0});
    if (next == list->second.end()) return std::nullopt;
    return next->slice;
  }

  void connect_to_call(uint32_t from, uint32_t call) {
    if (has_nodes(call)) connect(from, last_node_[call], CriticalEdgeType::kSync);
  }

  void connect_sync(int64_t correlation, const SyncEvent& event) {
    const uint32_t call = work_.find_call(correlation);
    const string_view name = trace_.slice_name(SliceId{event.row});
    if (name == "Stream Wait Event" || name == "Event Sync") {
      const auto source = find_recorded_work(event);
      if (!source) return;
      if (name == "Event Sync") {
        const uint32_t row = work_.all()[*source].row;
        if (has_nodes(row)) connect_to_call(last_node_[row], call);
      } else if (const auto next = find_next_work(call, event.stream)) {
        awaited_[*next] = *source;
      }
      return;
    }
    if (name == "Stream Sync") {
      const auto stream = find_stream(event.stream, find_device(event.row));
      if (stream && last_of_stream_[*stream] != kNoCriticalNode) {
        connect_to_call(last_of_stream_[*stream], call);
      }
      return;
    }
    if (name != "Context Sync") return;
    for (const uint32_t stream : streams_in_use_) connect_to_call(last_of_stream_[stream], call);
  }

  void connect_slice(uint32_t number) {
    const DeviceSlice& slice = work_.all()[number];
    const uint32_t begin = first_node_[slice.row];
    const uint32_t end = last_node_[slice.row];
    connect(begin, end, CriticalEdgeType::kOperator, false, slice.row);
    uint32_t awaited_end = kNoCriticalNode;
    if (const auto awaited = awaited_.find(number); awaited != awaited_.end()) {
      const uint32_t row = work_.all()[awaited->second].row;
      if (has_nodes(row) && row != slice.row) {
        awaited_end = last_node_[row];
        connect(awaited_end, begin, CriticalEdgeType::kSync);
      }
    }
    const int64_t launch_ns = slices_.start_ns[slice.call];
    const uint32_t before = last_of_stream_[stream_of_[number]];
    const auto is_done_before = [&](uint32_t node, int64_t time_ns) {
      return node == kNoCriticalNode || graph_.nodes_[node].time_ns < time_ns;
    };
    const bool was_free = queue_at_launch_[number] == 1 && queue_at_start_[number] == 0 &&
                          is_done_before(before, launch_ns) &&
                          is_done_before(awaited_end, launch_ns);
    if (!was_free && before != kNoCriticalNode &&
        slice.start_ns - graph_.nodes_[before].time_ns < kLongestKernelDelayNs &&
        is_done_before(awaited_end, graph_.nodes_[before].time_ns)) {
      connect(before, begin, CriticalEdgeType::kKernelKernel, false, graph_.nodes_[before].row);
    }
    if (was_free && has_nodes(slice.call)) {
      connect(first_node_[slice.call], begin, CriticalEdgeType::kLaunch);
    }
    if (before == kNoCriticalNode) streams_in_use_.push_back(stream_of_[number]);
    last_of_stream_[stream_of_[number]] = end;
  }

  void connect_inferred_syncs() {
    for (const SyncCall& call : find_sync_calls(trace_, work_)) {
      if (call.work == kNoRow || !has_nodes(call.work) || !has_nodes(call.row)) continue;
      connect_to_call(last_node_[call.work], call.row);
    }
  }

  const Trace& trace_;
  const SliceColumns& slices_;
  const Interval window_;
  const DeviceSlices& work_;
  CriticalGraph& graph_;
  std::vector<uint8_t> needs_lock_;   // by LabelId
  std::vector<uint8_t> is_blocking_;  // by LabelId
  std::vector<uint32_t> first_node_;  // by row
  std::vector<uint32_t> last_node_;
  std::vector<uint8_t> is_connected_;                   // by node
  std::unordered_map<int64_t, SyncEvent> sync_events_;  // by the correlation id of their call
  std::vector<int64_t> queue_at_launch_;                // by slice of work
  std::vector<int64_t> queue_at_start_;
  std::vector<uint32_t> stream_of_;
  std::map<std::pair<int64_t, int32_t>, uint32_t> stream_numbers_;
  std::vector<uint32_t> last_of_stream_;  // a node
  std::vector<uint32_t> streams_in_use_;  // in the order of their first work
  std::vector<std::vector<Launched>> by_stream_;
  std::map<std::pair<uint32_t, int64_t>, std::vector<Launched>> by_thread_;
  std::unordered_map<uint32_t, uint32_t> awaited_;  // slices of work: what waits, for what
};

CriticalGraph::CriticalGraph(const Trace& trace, const Interval& window) {
  Builder(trace, window, *this).build();
}

}  // namespace stepscope
