#include "export/stack_export.h"

#include <fmt/format.h>

namespace stepscope {
namespace {

constexpr uint64_t kMaxFrames = 10'000'000;  // that a file writes out: some hundred MB
constexpr uint32_t kMinLevels = 4'000;

void add_count(uint64_t count, std::string_view what, std::string& to) {
  if (count == 0) return;
  to += fmt::format("{}{} {}", to.empty() ? "" : ", ", count, what);
}

void add(std::string_view what, std::string& to) {
  if (!to.empty()) to += ", ";
  to += what;
}

std::string describe_rest(const Trace& trace) {
  std::string text;
  add_count(trace.counters().value.size(), "counter values", text);
  add_count(trace.flows().id.size(), "arrows", text);
  add_count(trace.allocations().time_ns.size(), "allocations", text);
  if (!trace.args().empty()) add("the arguments of slices", text);
  return text;
}

uint64_t count_instants(const Trace& trace) {
  const std::vector<Label>& labels = trace.labels().all();
  uint64_t instants = 0;
  for (const LabelId label : trace.slices().label) {
    instants += labels[index(label)].kind == SliceKind::kInstant;
  }
  return instants;
}

std::vector<std::string> as_list(std::string text) {
  if (text.empty()) return {};
  return {std::move(text)};
}

}  // namespace

Result<CallTree> build_stacks(const Trace& trace, const ExportOptions& options) {
  SliceScope scope;
  scope.sample_weight = options.sample_weight;
  CallTree tree = CallTree::build(trace, scope);
  if (!tree.is_empty()) return tree;
  if (!trace.call_edges().callee.empty()) {
    return Status::error(trace.source() +
                         ": it tells who called whom, but no stacks; it can become callgrind");
  }
  return Status::error(trace.source() + ": no slices or samples to make stacks of");
}

WeightUnit weight_unit(const Trace& trace, CallTree::Source source) {
  if (source != CallTree::Source::kSamples) return WeightUnit::kNs;
  const std::string_view unit = trace.find_metadata("weight_unit");
  if (unit == "none") return WeightUnit::kNone;
  return unit == "bytes" ? WeightUnit::kBytes : WeightUnit::kNs;
}

uint32_t find_max_level(const CallTree& tree) {
  std::vector<uint64_t> nodes_at;  // by depth
  for (size_t id = 1; id < tree.nodes().size(); ++id) {
    const uint32_t depth = tree.nodes()[id].depth;
    if (depth >= nodes_at.size()) nodes_at.resize(depth + 1);
    ++nodes_at[depth];
  }
  uint64_t frames = 0;
  for (uint32_t depth = 0; depth < nodes_at.size(); ++depth) {
    frames += nodes_at[depth] * (depth + 1);
    if (frames > kMaxFrames && depth >= kMinLevels) return depth;
  }
  return UINT32_MAX;
}

std::string frame_text(const CallTree::Function& function) {
  if (function.file.empty()) return function.name;
  if (function.line <= 0) return fmt::format("{} ({})", function.name, function.file);
  return fmt::format("{} ({}:{})", function.name, function.file, function.line);
}

std::vector<std::string> describe_left_out(const Trace& trace, const CallTree& tree,
                                           uint32_t max_level) {
  std::string text = "the order of calls in time";
  if (tree.left_out_streams()) add("what ran on device streams", text);
  if (const std::string rest = describe_rest(trace); !rest.empty()) add(rest, text);
  if (tree.source() == CallTree::Source::kSlices) {
    add_count(trace.samples().time_ns.size(), "samples", text);
  }
  add_count(trace.call_edges().callee.size(), "call edges", text);
  if (max_level != UINT32_MAX) {
    add(fmt::format("calls deeper than {} levels, whose time counts for the callers",
                    max_level + 1),
        text);
  }
  return as_list(std::move(text));
}

std::vector<std::string> describe_left_out_of_timeline(const Trace& trace) {
  std::string text = describe_rest(trace);
  add_count(count_instants(trace), "instants", text);
  add_count(trace.call_edges().callee.size(), "call edges", text);
  return as_list(std::move(text));
}

}  // namespace stepscope
