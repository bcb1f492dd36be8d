// The view `tree`: who called what, merged by the path of names over all host tracks (or those of
// --track), heaviest first; steps are merged as ProfilerStep#*; from samples where the trace has no
// slices. Instants and the recording's own span have no place in it.
#include "analyze/call_tree.h"
#include "analyze/slice_filter.h"
#include "analyze/views.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace stepscope {
namespace {

constexpr int kDefaultDepth = 6;

bool is_in_tree(SliceKind kind) { return kind != SliceKind::kInstant && kind != SliceKind::kSpan; }

bool is_host(TrackKind kind) { return kind == TrackKind::kThread || kind == TrackKind::kAsync; }

bool has_host_slices(const Trace& trace) {
  return std::any_of(trace.tracks().begin(), trace.tracks().end(), [](const Track& track) {
    return is_host(track.kind) && track.slice_count > 0;
  });
}

// "ProfilerStep#" of "ProfilerStep#17"; "" where the name does not end in a number.
std::string_view stem_of_step(std::string_view name) {
  const size_t last = name.find_last_not_of("0123456789");
  if (last == std::string_view::npos || last + 1 == name.size()) return "";
  return name.substr(0, last + 1);
}

// Names by label. Steps that differ only in their number get the name of the first of them.
struct NodeNames {
  std::vector<StringId> by_label;
  std::unordered_map<StringId, std::string> shown;  // of those that stand for several
};

NodeNames find_names(const Trace& trace) {
  NodeNames names;
  std::unordered_map<std::string_view, StringId> first_of_stem;
  for (const Label& label : trace.labels().all()) {
    const std::string_view stem =
        label.kind == SliceKind::kStep ? stem_of_step(trace.string(label.name)) : "";
    if (stem.empty()) {
      names.by_label.push_back(label.name);
      continue;
    }
    const auto [it, is_first] = first_of_stem.emplace(stem, label.name);
    if (!is_first && it->second != label.name) names.shown[it->second] = std::string(stem) + "*";
    names.by_label.push_back(it->second);
  }
  return names;
}

void add_track(const Trace& trace, const Track& track, const NodeNames& names,
               const SliceFilter& filter, uint32_t max_depth, CallTree& tree) {
  constexpr uint32_t kTooDeep = UINT32_MAX;
  const SliceColumns& slices = trace.slices();
  const std::vector<Label>& labels = trace.labels().all();
  std::vector<uint32_t> node_of(track.slice_count, CallTree::kRoot);
  for (uint32_t i = 0; i < track.slice_count; ++i) {
    const uint32_t row = track.first_slice + i;
    const SliceId parent_row = slices.parent[row];
    uint32_t parent = CallTree::kRoot;
    if (parent_row != kNoSlice) parent = node_of[index(parent_row) - track.first_slice];
    const Label& label = labels[index(slices.label[row])];
    // What is not taken lets its children through to the slice above it.
    if (!is_in_tree(label.kind) || !filter.takes_time(slices.start_ns[row])) {
      node_of[i] = parent;
      continue;
    }
    if (parent == kTooDeep) {
      node_of[i] = kTooDeep;
      continue;
    }
    const int64_t dur_ns = slices.dur_ns[row];
    tree.node(parent).children_ns += dur_ns;
    if (parent != CallTree::kRoot && tree.node(parent).depth + 1 >= max_depth) {
      node_of[i] = kTooDeep;
      continue;
    }
    const uint32_t id = tree.child(parent, names.by_label[index(slices.label[row])]);
    CallTree::Node& node = tree.node(id);
    ++node.calls;
    node.total_ns += dur_ns;
    node_of[i] = id;
  }
}

void add_samples(const Trace& trace, const SliceFilter& filter, uint32_t max_depth,
                 CallTree& tree) {
  const SampleColumns& samples = trace.samples();
  const auto stacks = trace.stacks();
  std::vector<StackId> path;
  for (size_t i = 0; i < samples.time_ns.size(); ++i) {
    if (!filter.takes_track(samples.track[i]) || !filter.takes_time(samples.time_ns[i])) continue;
    path.clear();
    StackId stack = samples.stack[i];
    while (stack != kNoStack && index(stack) < stacks.size() && path.size() < stacks.size()) {
      path.push_back(stack);
      stack = stacks[index(stack)].parent;
    }
    const int64_t weight_ns = samples.weight_ns[i];
    uint32_t parent = CallTree::kRoot;
    for (size_t level = path.size(); level-- > 0;) {
      tree.node(parent).children_ns += weight_ns;
      if (path.size() - level > max_depth) break;
      const FrameId frame = stacks[index(path[level])].frame;
      if (frame == kNoFrame || index(frame) >= trace.frames().size()) continue;
      parent = tree.child(parent, trace.frames()[index(frame)].name);
      ++tree.node(parent).calls;
      tree.node(parent).total_ns += weight_ns;
    }
  }
}

void fill_table(const Trace& trace, const CallTree& tree, const NodeNames& names, Table& table) {
  Column& name = table.add("name", ColumnType::kString);
  Column& depth = table.add("depth", ColumnType::kInt);
  Column& calls = table.add("calls", ColumnType::kInt, Unit::kCount);
  Column& total = table.add("total_ns", ColumnType::kInt, Unit::kNs);
  Column& self = table.add("self_ns", ColumnType::kInt, Unit::kNs);
  Column& fraction = table.add("fraction", ColumnType::kDouble, Unit::kFraction);

  // Siblings by total time, each followed by its children: sorted once, then linked per parent.
  const std::vector<CallTree::Node>& nodes = tree.nodes();
  std::vector<uint32_t> sorted;
  for (uint32_t id = 1; id < nodes.size(); ++id) sorted.push_back(id);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](uint32_t a, uint32_t b) { return nodes[a].total_ns > nodes[b].total_ns; });
  std::vector<uint32_t> first(nodes.size(), 0), next(nodes.size(), 0);
  for (size_t i = sorted.size(); i-- > 0;) {
    next[sorted[i]] = first[nodes[sorted[i]].parent];
    first[nodes[sorted[i]].parent] = sorted[i];
  }
  const double all_ns = static_cast<double>(nodes[CallTree::kRoot].children_ns);
  std::vector<uint32_t> open;
  if (first[CallTree::kRoot] != 0) open.push_back(first[CallTree::kRoot]);
  while (!open.empty()) {
    const uint32_t id = open.back();
    open.pop_back();
    if (next[id] != 0) open.push_back(next[id]);
    if (first[id] != 0) open.push_back(first[id]);
    const CallTree::Node& node = nodes[id];
    const auto shown = names.shown.find(node.name);
    name.push(shown != names.shown.end() ? shown->second : trace.string(node.name));
    depth.push(int64_t{node.depth});
    calls.push(static_cast<int64_t>(node.calls));
    total.push(node.total_ns);
    self.push(node.total_ns - node.children_ns);
    if (all_ns > 0) {
      fraction.push(static_cast<double>(node.total_ns) / all_ns);
    } else {
      fraction.push_null();
    }
  }
}

}  // namespace

Result<Table> tree(const Trace& trace, const TableOptions& options) {
  Result<SliceFilter> filter = SliceFilter::make(trace, options);
  if (!filter) return filter.status();
  const int depth = options.depth < 0 ? kDefaultDepth : options.depth;
  const uint32_t max_depth = depth == 0 ? UINT32_MAX : static_cast<uint32_t>(depth);
  Table table("tree");
  const NodeNames names = find_names(trace);
  CallTree calls;
  // Kernels hold nothing and would stand beside the calls that launched them.
  const bool host_only = options.track.empty() && has_host_slices(trace);
  bool left_out_streams = false;
  for (uint32_t i = 0; i < trace.tracks().size(); ++i) {
    const Track& track = trace.tracks()[i];
    if (!filter->takes_track(TrackId{i}) || track.slice_count == 0) continue;
    if (host_only && !is_host(track.kind)) {
      left_out_streams = true;
      continue;
    }
    add_track(trace, track, names, *filter, max_depth, calls);
  }
  if (calls.nodes().size() == 1 && !trace.samples().time_ns.empty()) {
    add_samples(trace, *filter, max_depth, calls);
    table.notes.push_back(
        "from samples: a call is a sample that saw the function, times are estimates");
  }
  fill_table(trace, calls, names, table);
  if (left_out_streams) {
    table.notes.push_back(
        "device streams are left out (the view kernels has them, or --track stream)");
  }
  if (table.rows() == 0) {
    table.notes.push_back(
        trace.call_edges().callee.empty()
            ? "no slices or samples to make a tree of"
            : "this trace has calls without a timeline: the view functions has them");
  }
  return table;
}

}  // namespace stepscope
