#include "trace/call_tree.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "trace/function_name.h"
#include "trace/sample_weights.h"

namespace stepscope {
namespace {

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

CallTree::Function function_of_text(std::string text, uint32_t id) {
  const FunctionName parsed = parse_function_name(text);
  CallTree::Function function{"", std::string(parsed.name), std::string(parsed.file), parsed.line,
                              id};
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

bool CallTree::takes(SliceKind kind) const {
  return kind != SliceKind::kInstant && kind != SliceKind::kSpan &&
         (kinds_ & slice_kind_bit(kind)) != 0;
}

// A function per name, whatever its category and kind. The first of the steps that differ only in
// their number stands for all of them.
void CallTree::add_functions_of_labels(const Trace& trace) {
  std::unordered_map<StringId, uint32_t> by_name;
  std::unordered_map<std::string_view, StringId> first_of_stem;
  for (const Label& label : trace.labels().all()) {
    const std::string_view stem =
        label.kind == SliceKind::kStep ? stem_of_step(trace.string(label.name)) : "";
    StringId name = label.name;
    if (!stem.empty()) name = first_of_stem.emplace(stem, label.name).first->second;
    const auto [it, is_new] = by_name.emplace(name, static_cast<uint32_t>(functions_.size()));
    const auto id = static_cast<uint32_t>(function_of_label_.size());
    if (is_new) functions_.push_back(function_of_text(std::string(trace.string(name)), id));
    Function& function = functions_[it->second];
    if (name != label.name) function = function_of_text(std::string(stem) + "*", function.id);
    function_of_label_.push_back(it->second);
  }
}

void CallTree::add_track(const Trace& trace, const Track& track, const SliceScope& scope) {
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
    if (!takes(label.kind) || !scope.takes_time(slices.start_ns[row])) {
      node_of[i] = parent;
      continue;
    }
    if (parent == kTooDeep) {
      node_of[i] = kTooDeep;
      continue;
    }
    const int64_t dur_ns = slices.dur_ns[row];
    add_to(paths_.node(parent).children_ns, dur_ns);
    if (parent != kRoot && paths_.node(parent).depth + 1 >= max_levels_) {
      node_of[i] = kTooDeep;
      continue;
    }
    const uint32_t id = paths_.child(parent, function_of_label_[index(slices.label[row])]);
    ++paths_.node(id).calls;
    add_to(paths_.node(id).total_ns, dur_ns);
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
  for (const Frame& frame : frames) {
    const std::string name(trace.string(frame.name));
    functions_.push_back({name, name, std::string(trace.string(frame.file)), frame.line,
                          static_cast<uint32_t>(functions_.size())});
  }
  // A stack's parent is made before it, so that each needs one step. Only stacks that samples saw
  // get a node.
  std::vector<uint8_t> is_seen(stacks.size(), 0);
  const SampleColumns& samples = trace.samples();
  const SampleWeights weights(samples, scope.sample_weight);
  is_cpu_time_ = weights.is_cpu();
  const auto takes = [&](size_t i) {
    return index(samples.stack[i]) < stacks.size() && weights.counts(i) &&
           scope.takes_track(samples.track[i]) && scope.takes_time(samples.time_ns[i]);
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
    if (place.node != kRoot && paths_.node(place.node).depth + 1 >= max_levels_) {
      place.is_too_deep = true;
    } else {
      place.node = paths_.child(place.node, index(stacks[i].frame));
    }
  }
  for (size_t i = 0; i < samples.time_ns.size(); ++i) {
    if (!takes(i)) continue;
    const Place& place = places[index(samples.stack[i])];
    Node& node = paths_.node(place.node);
    node.calls += samples.get_count(i);
    add_to(node.total_ns, weights[i]);
    if (place.is_too_deep) add_to(node.children_ns, weights[i]);
  }
  for (auto id = static_cast<uint32_t>(nodes().size()); id-- > 1;) {
    Node& parent = paths_.node(paths_.node(id).parent);
    parent.calls += paths_.node(id).calls;
    add_to(parent.total_ns, paths_.node(id).total_ns);
    add_to(parent.children_ns, paths_.node(id).total_ns);
  }
}

CallTree CallTree::build(const Trace& trace, const SliceScope& scope, uint32_t max_levels,
                         uint32_t kinds) {
  CallTree tree(max_levels, kinds);
  const bool asks_for_slices = kinds != kAllSliceKinds && trace.slices().size() > 0;
  if (!asks_for_slices && functions_are_sampled(trace)) {
    tree.add_samples(trace, scope);
    tree.source_ = Source::kSamples;
    return tree;
  }
  tree.add_functions_of_labels(trace);
  const bool takes_any = scope.tracks.empty() && kinds == kAllSliceKinds;
  const bool host_only = takes_any && has_host_slices(trace);
  for (uint32_t i = 0; i < trace.tracks().size(); ++i) {
    const Track& track = trace.tracks()[i];
    if (!scope.takes_track(TrackId{i}) || track.slice_count == 0) continue;
    if (host_only && !is_host(track.kind)) {
      tree.left_out_streams_ = true;
      continue;
    }
    if (takes_any && holds_steps(trace, track)) continue;
    tree.add_track(trace, track, scope);
  }
  if (!tree.is_empty()) tree.source_ = Source::kSlices;
  return tree;
}

}  // namespace stepscope
