#include "trace/call_tree.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "trace/function_name.h"

namespace stepscope {
namespace {

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

void add_to(int64_t& sum_ns, int64_t ns) { sum_ns = add_saturating(sum_ns, ns); }

CallTree::Function function_of_text(std::string text) {
  const FunctionName parsed = parse_function_name(text);
  CallTree::Function function{"", std::string(parsed.name), std::string(parsed.file), parsed.line};
  function.text = std::move(text);
  return function;
}

// A recording's steps lie on a track of their own, beside the calls that they are made of.
bool holds_steps(const Trace& trace, const Track& track) {
  if (track.kind != TrackKind::kAsync) return false;
  const LabelId first = trace.slices().label[track.first_slice];
  return trace.labels()[first].kind == SliceKind::kStep;
}

}  // namespace

CallTree::CallTree(uint32_t max_levels) : nodes_(1), slots_(1024, 0), max_levels_(max_levels) {}

size_t CallTree::slot_of(uint32_t parent, uint32_t function) const {
  const size_t mask = slots_.size() - 1;
  const uint64_t key = (uint64_t{parent} << 32) | function;
  size_t slot = static_cast<size_t>((key * 0x9E3779B97F4A7C15u) >> 32) & mask;
  while (slots_[slot] != 0) {
    const Node& node = nodes_[slots_[slot]];
    if (node.parent == parent && node.function == function) break;
    slot = (slot + 1) & mask;
  }
  return slot;
}

uint32_t CallTree::find_or_add(uint32_t parent, uint32_t function) {
  size_t slot = slot_of(parent, function);
  if (slots_[slot] != 0) return slots_[slot];
  if (nodes_.size() * 2 > slots_.size()) {
    grow();
    slot = slot_of(parent, function);
  }
  const auto id = static_cast<uint32_t>(nodes_.size());
  slots_[slot] = id;
  nodes_.push_back({.parent = parent,
                    .function = function,
                    .depth = parent == kRoot ? 0 : nodes_[parent].depth + 1});
  return id;
}

void CallTree::grow() {
  std::vector<uint32_t> old = std::exchange(slots_, std::vector<uint32_t>(slots_.size() * 2, 0));
  for (const uint32_t id : old) {
    if (id != 0) slots_[slot_of(nodes_[id].parent, nodes_[id].function)] = id;
  }
}

// A function per name, whatever its category and kind. The first of the steps that differ only in
// their number stands for all of them.
std::vector<uint32_t> CallTree::add_functions_of_labels(const Trace& trace) {
  std::vector<uint32_t> by_label;
  std::unordered_map<StringId, uint32_t> by_name;
  std::unordered_map<std::string_view, StringId> first_of_stem;
  for (const Label& label : trace.labels().all()) {
    const std::string_view stem =
        label.kind == SliceKind::kStep ? stem_of_step(trace.string(label.name)) : "";
    StringId name = label.name;
    if (!stem.empty()) name = first_of_stem.emplace(stem, label.name).first->second;
    const auto [it, is_new] = by_name.emplace(name, static_cast<uint32_t>(functions_.size()));
    if (is_new) functions_.push_back(function_of_text(std::string(trace.string(name))));
    if (name != label.name) functions_[it->second] = function_of_text(std::string(stem) + "*");
    by_label.push_back(it->second);
  }
  return by_label;
}

void CallTree::add_track(const Trace& trace, const Track& track, const SliceScope& scope,
                         const std::vector<uint32_t>& function_of_label) {
  constexpr uint32_t kTooDeep = UINT32_MAX;
  const SliceColumns& slices = trace.slices();
  const std::vector<Label>& labels = trace.labels().all();
  std::vector<uint32_t> node_of(track.slice_count, kRoot);
  for (uint32_t i = 0; i < track.slice_count; ++i) {
    const uint32_t row = track.first_slice + i;
    const SliceId parent_row = slices.parent[row];
    uint32_t parent = kRoot;
    if (parent_row != kNoSlice) parent = node_of[index(parent_row) - track.first_slice];
    const Label& label = labels[index(slices.label[row])];
    // What is not taken lets its children through to the slice above it.
    if (!is_in_tree(label.kind) || !scope.takes_time(slices.start_ns[row])) {
      node_of[i] = parent;
      continue;
    }
    if (parent == kTooDeep) {
      node_of[i] = kTooDeep;
      continue;
    }
    const int64_t dur_ns = slices.dur_ns[row];
    add_to(nodes_[parent].children_ns, dur_ns);
    if (parent != kRoot && nodes_[parent].depth + 1 >= max_levels_) {
      node_of[i] = kTooDeep;
      continue;
    }
    const uint32_t id = child(parent, function_of_label[index(slices.label[row])]);
    ++nodes_[id].calls;
    add_to(nodes_[id].total_ns, dur_ns);
    node_of[i] = id;
  }
}

void CallTree::add_samples(const Trace& trace, const SliceScope& scope) {
  struct Place {
    uint32_t node = kRoot;
    bool is_too_deep = false;
  };
  const auto frames = trace.frames();
  const auto stacks = trace.stacks();
  functions_.clear();
  for (const Frame& frame : frames) {
    const std::string name(trace.string(frame.name));
    functions_.push_back({name, name, std::string(trace.string(frame.file)), frame.line});
  }
  // A stack's parent is made before it, so that each needs one step. Only stacks that samples saw
  // get a node.
  std::vector<uint8_t> is_seen(stacks.size(), 0);
  const SampleColumns& samples = trace.samples();
  const auto takes = [&](size_t i) {
    return index(samples.stack[i]) < stacks.size() && scope.takes_track(samples.track[i]) &&
           scope.takes_time(samples.time_ns[i]);
  };
  for (size_t i = 0; i < samples.time_ns.size(); ++i) {
    if (takes(i)) is_seen[index(samples.stack[i])] = 1;
  }
  const auto has_parent = [&](size_t i) { return index(stacks[i].parent) < i; };
  for (size_t i = stacks.size(); i-- > 0;) {
    if (is_seen[i] != 0 && has_parent(i)) is_seen[index(stacks[i].parent)] = 1;
  }
  std::vector<Place> places(stacks.size());
  for (size_t i = 0; i < stacks.size(); ++i) {
    if (is_seen[i] == 0) continue;
    if (has_parent(i)) places[i] = places[index(stacks[i].parent)];
    Place& place = places[i];
    if (index(stacks[i].frame) >= frames.size() || place.is_too_deep) continue;
    if (place.node != kRoot && nodes_[place.node].depth + 1 >= max_levels_) {
      place.is_too_deep = true;
    } else {
      place.node = child(place.node, index(stacks[i].frame));
    }
  }
  for (size_t i = 0; i < samples.time_ns.size(); ++i) {
    if (!takes(i)) continue;
    const Place& place = places[index(samples.stack[i])];
    Node& node = nodes_[place.node];
    ++node.calls;
    add_to(node.total_ns, samples.weight_ns[i]);
    if (place.is_too_deep) add_to(node.children_ns, samples.weight_ns[i]);
  }
  for (size_t id = nodes_.size(); id-- > 1;) {
    Node& parent = nodes_[nodes_[id].parent];
    parent.calls += nodes_[id].calls;
    add_to(parent.total_ns, nodes_[id].total_ns);
    add_to(parent.children_ns, nodes_[id].total_ns);
  }
}

CallTree CallTree::build(const Trace& trace, const SliceScope& scope, uint32_t max_levels) {
  CallTree tree(max_levels);
  const std::vector<uint32_t> function_of_label = tree.add_functions_of_labels(trace);
  const bool host_only = scope.tracks.empty() && has_host_slices(trace);
  for (uint32_t i = 0; i < trace.tracks().size(); ++i) {
    const Track& track = trace.tracks()[i];
    if (!scope.takes_track(TrackId{i}) || track.slice_count == 0) continue;
    if (host_only && !is_host(track.kind)) {
      tree.left_out_streams_ = true;
      continue;
    }
    if (scope.tracks.empty() && holds_steps(trace, track)) continue;
    tree.add_track(trace, track, scope, function_of_label);
  }
  if (!tree.is_empty()) {
    tree.source_ = Source::kSlices;
  } else if (!trace.samples().time_ns.empty()) {
    tree.add_samples(trace, scope);
    tree.source_ = Source::kSamples;
  }
  return tree;
}

std::vector<uint32_t> CallTree::heaviest_first() const {
  // Sorted once, then linked per parent.
  std::vector<uint32_t> sorted;
  sorted.reserve(nodes_.size());
  for (uint32_t id = 1; id < nodes_.size(); ++id) sorted.push_back(id);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](uint32_t a, uint32_t b) { return nodes_[a].total_ns > nodes_[b].total_ns; });
  std::vector<uint32_t> first(nodes_.size(), 0), next(nodes_.size(), 0);
  for (size_t i = sorted.size(); i-- > 0;) {
    next[sorted[i]] = first[nodes_[sorted[i]].parent];
    first[nodes_[sorted[i]].parent] = sorted[i];
  }
  std::vector<uint32_t> order;
  order.reserve(sorted.size());
  std::vector<uint32_t> open;
  if (first[kRoot] != 0) open.push_back(first[kRoot]);
  while (!open.empty()) {
    const uint32_t id = open.back();
    open.pop_back();
    order.push_back(id);
    if (next[id] != 0) open.push_back(next[id]);
    if (first[id] != 0) open.push_back(first[id]);
  }
  return order;
}

}  // namespace stepscope
