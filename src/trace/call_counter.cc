#include "trace/call_counter.h"

#include "base/saturating.h"

namespace stepscope {
namespace {

constexpr uint32_t kind_bit(SliceKind kind) { return 1u << static_cast<unsigned>(kind); }
constexpr uint32_t kKnownKinds = kind_bit(SliceKind::kPython) | kind_bit(SliceKind::kCall);
constexpr uint32_t kFunctionKinds = kKnownKinds | kind_bit(SliceKind::kOther);

// A call of a module (nn.Module: head.0 (Linear)) is around calls of functions and is none itself.
SliceKind kind_among_calls(const Label& label, const StringPool& strings) {
  const bool is_module =
      label.kind == SliceKind::kPython && strings.view(label.category) == "nn_module";
  return is_module ? SliceKind::kAnnotation : label.kind;
}

// A call that ends. Where it was the only one open it is primitive, and its time counts.
void count_call(CallCost& cost, uint32_t& open, const Nesting::Slice& slice) {
  ++cost.calls;
  cost.self_ns = add_saturating(cost.self_ns, slice.self_ns());
  if (--open > 0) return;
  ++cost.primitive_calls;
  cost.total_ns = add_saturating(cost.total_ns, slice.dur_ns());
}

}  // namespace

void CallCounter::add(const SliceBlock& block) {
  const auto on_close = [this](const Nesting::Slice& slice) { close(slice); };
  if (block.starts_track) nesting_.close_all(on_close);
  learn_labels();
  uint32_t kinds = 0;
  for (const LabelId label : block.label) kinds |= kind_bits_[index(label)];
  seen_kinds_ |= kinds;
  if ((kinds & kFunctionKinds) == 0 && nesting_.stack().empty()) return;
  for (size_t i = 0; i < block.size(); ++i) {
    const LabelId label = block.label[i];
    if (kind_bits_[index(label)] == 0) continue;
    nesting_.open(block.row(i), label, block.start_ns[i], block.dur_ns(i), on_close);
    const uint32_t function = function_of_[index(label)];
    if (function != kNone) open(function, scope_.takes_time(block.start_ns[i]));
  }
}

void CallCounter::close_track() {
  nesting_.close_all([this](const Nesting::Slice& slice) { close(slice); });
}

void CallCounter::open(uint32_t function, bool is_counted) {
  if (is_counted) ++functions_[function].open;
  if (!has_edges_) return;
  std::vector<OpenCall>& calls = open_calls_[functions_[function].is_known ? 1 : 0];
  uint32_t edge = kNone;
  if (is_counted && !calls.empty()) {
    edge = find_edge(calls.back().function, function);
    ++edges_[edge].open;
  }
  calls.push_back({function, edge});
}

void CallCounter::close(const Nesting::Slice& slice) {
  const uint32_t id = function_of_[index(slice.label)];
  if (id == kNone) return;
  Function& function = functions_[id];
  if (scope_.takes_time(slice.start_ns)) count_call(function.cost, function.open, slice);
  if (!has_edges_) return;
  std::vector<OpenCall>& calls = open_calls_[function.is_known ? 1 : 0];
  const uint32_t edge = calls.back().edge;
  calls.pop_back();
  if (edge != kNone) count_call(edges_[edge].cost, edges_[edge].open, slice);
}

uint32_t CallCounter::find_edge(uint32_t caller, uint32_t callee) {
  LastEdge& last = last_edge_[caller];
  if (last.callee == callee) return last.edge;
  const auto [edge, is_new] = edges_by_key_.try_emplace(uint64_t{caller} << 32 | callee,
                                                        static_cast<uint32_t>(edges_.size()));
  if (is_new) edges_.push_back({caller, callee, 0, {}});
  last = {callee, edge};
  return edge;
}

void CallCounter::learn_labels() {
  const std::vector<Label>& labels = stream_.labels().all();
  for (size_t i = function_of_.size(); i < labels.size(); ++i) {
    const SliceKind kind = kind_among_calls(labels[i], stream_.strings());
    const bool takes_time = kind != SliceKind::kInstant && kind != SliceKind::kSpan;
    kind_bits_.push_back(takes_time ? kind_bit(kind) : 0);
    const bool is_known = (kind_bit(kind) & kKnownKinds) != 0;
    if (!is_known && kind != SliceKind::kOther) {
      function_of_.push_back(kNone);
      continue;
    }
    const uint64_t key = uint64_t{index(labels[i].name)} * 2 + (is_known ? 1 : 0);
    const auto [it, is_new] =
        functions_by_key_.emplace(key, static_cast<uint32_t>(functions_.size()));
    if (is_new) functions_.push_back({labels[i].name, is_known, 0, {}});
    function_of_.push_back(it->second);
  }
  last_edge_.resize(functions_.size());
}

void CallCounter::reset_costs() {
  for (Function& function : functions_) function.cost = {};
  for (Edge& edge : edges_) edge.cost = {};
}

bool CallCounter::has_known() const { return (seen_kinds_ & kKnownKinds) != 0; }

bool CallCounter::knows_no_kinds() const {
  return (seen_kinds_ & kind_bit(SliceKind::kOther)) != 0 &&
         (seen_kinds_ & (kind_bit(SliceKind::kOperator) | kind_bit(SliceKind::kAnnotation) |
                         kind_bit(SliceKind::kStep) | kind_bit(SliceKind::kRuntime))) == 0;
}

}  // namespace stepscope
