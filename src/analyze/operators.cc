// The view `operators`: torch.profiler's key_averages() and TensorBoard's operator table. What
// counts as an operator is told in operator_rules.h, how calls nest in operator_walk.h.
//
// Rows are found by label through a dense table; one linear pass per track. With --by shape or --by
// stack a row is looked up by (label's row, shapes or stack) in a hash map.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyze/launches.h"
#include "analyze/operator_cost.h"
#include "analyze/operator_rules.h"
#include "analyze/operator_walk.h"
#include "analyze/python_stacks.h"
#include "analyze/sampling.h"
#include "analyze/shapes.h"
#include "analyze/slice_filter.h"
#include "analyze/views.h"
#include "base/flat_map.h"

namespace stepscope {
namespace {

enum class By : uint8_t { kName, kShape, kStack };

struct Row {
  LabelId label{};
  uint32_t detail = 0;  // index of the shapes or of the stack
  uint64_t calls = 0;
  int64_t self_host_ns = 0;
  int64_t total_host_ns = 0;
  int64_t self_device_ns = 0;
  int64_t total_device_ns = 0;
  int64_t self_tensor_core_ns = 0;
  int64_t total_tensor_core_ns = 0;
  int64_t self_memory_bytes = 0;
  int64_t memory_bytes = 0;
  int64_t self_device_memory_bytes = 0;
  int64_t device_memory_bytes = 0;
  uint64_t flops = 0;
  bool has_flops = false;
  bool eligible = false;
};

// Texts that calls are told apart by: the same text has the same index.
class DetailTable {
 public:
  uint32_t intern(std::string text) {
    const auto [it, is_new] =
        ids_.try_emplace(std::move(text), static_cast<uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(&it->first);
    return it->second;
  }
  const std::string& text(uint32_t id) const { return *texts_[id]; }

 private:
  std::unordered_map<std::string, uint32_t> ids_;
  std::vector<const std::string*> texts_;
};

class OperatorTable {
 public:
  OperatorTable(const OperatorRules& rules, const SliceStream& stream, const SliceFilter& filter,
                By by, int stack_depth, const Trace* trace)
      : rules_(rules), stream_(stream), filter_(filter), by_(by), stack_depth_(stack_depth) {
    if (trace != nullptr && by == By::kStack) python_stacks_.emplace(*trace);
    const LabelTable& labels = stream.labels();
    label_group_.assign(labels.size(), kUnset);
    cost_rule_.reserve(labels.size());
    for (const Label& label : labels.all()) {
      cost_rule_.push_back(label.kind == SliceKind::kOperator
                               ? find_cost_rule(stream.strings().view(label.name))
                               : nullptr);
    }
    no_detail_ = details_.intern(by == By::kShape ? "[]" : "");
  }

  void begin_block(const SliceBlock& block) {
    const StringPool& strings = stream_.strings();
    dims_.emplace(block, strings, "Input Dims", ArgType::kJson);
    if (dims_->column() == nullptr) dims_.emplace(block, strings, "Input dims", ArgType::kJson);
    concrete_inputs_.emplace(block, strings, "Concrete Inputs", ArgType::kJson);
    call_stacks_.emplace(block, strings, "Call stack", ArgType::kString);
    if (block.starts_track) costed_until_ns_ = INT64_MIN;
  }

  OperatorWalkKey open(const SliceBlock& block, size_t i, LabelId label) {
    OperatorWalkKey key;
    const SliceId row = block.row(i);
    const CostRule* cost_rule = cost_rule_[index(label)];
    std::optional<size_t> dims_at;
    if (by_ == By::kShape || cost_rule != nullptr) dims_at = dims_->find(row);
    const int64_t end_ns = block.start_ns[i] + block.dur_ns(i);
    const bool is_within = end_ns <= costed_until_ns_;
    if (cost_rule != nullptr && dims_at && (!is_within || is_counted_within(*cost_rule))) {
      set_flops(key, label, *dims_at, row);
      if (key.has_flops && !is_within) costed_until_ns_ = end_ns;
    }

    if (by_ == By::kName) {
      uint32_t& group = label_group_[index(label)];
      if (group == kUnset) group = find_or_add(label, no_detail_);
      key.row = group;
    } else {
      const uint32_t detail = by_ == By::kStack ? find_stack(row)
                              : dims_at         ? find_shapes(dims_->column()->string(*dims_at))
                                                : no_detail_;
      key.row = find_or_add(label, detail);
    }
    return key;
  }

  void close(const OperatorCall& call) {
    if (!filter_.takes_time(call.start_ns)) return;
    Row& row = rows_[call.key.row];
    ++row.calls;
    row.self_host_ns += call.self_host_ns;
    row.total_host_ns += call.dur_ns;
    row.flops += call.key.flops;
    row.has_flops |= call.key.has_flops;
    row.eligible |= call.eligible;
    if (call.has_effects) add_effects(call.effects, row);
  }

  static void add_effects(const OperatorEffects& effects, Row& row) {
    row.self_device_ns += effects.self_device_ns;
    row.total_device_ns += effects.self_device_ns + effects.children_device_ns;
    row.self_tensor_core_ns += effects.self_tensor_core_ns;
    row.total_tensor_core_ns += effects.self_tensor_core_ns + effects.children_tensor_core_ns;
    row.self_memory_bytes += effects.self_memory_bytes;
    row.memory_bytes += effects.self_memory_bytes + effects.children_memory_bytes;
    row.self_device_memory_bytes += effects.self_device_memory_bytes;
    row.device_memory_bytes +=
        effects.self_device_memory_bytes + effects.children_device_memory_bytes;
  }

  // Operators were recorded in this share of the time: the rows are made estimates of the whole.
  void scale_up(double share) {
    const auto scale = [share](auto& value) {
      value = static_cast<std::remove_reference_t<decltype(value)>>(
          std::llround(static_cast<double>(value) / share));
    };
    for (Row& row : rows_) {
      if (!is_sampled(stream_.strings().view(stream_.labels()[row.label].category))) continue;
      for (int64_t* value :
           {&row.self_host_ns, &row.total_host_ns, &row.self_memory_bytes, &row.memory_bytes,
            &row.self_device_memory_bytes, &row.device_memory_bytes}) {
        scale(*value);
      }
      scale(row.calls);
      scale(row.flops);
    }
  }

  const std::vector<Row>& rows() const { return rows_; }
  const std::string& detail_text(const Row& row) const { return details_.text(row.detail); }

 private:
  static constexpr uint32_t kUnset = UINT32_MAX;

  // torch tells an annotation from an operator of the same name.
  uint32_t find_or_add(LabelId label, uint32_t detail) {
    const uint64_t name =
        uint64_t{index(rules_.row_name(label))} << 1 | uint64_t{rules_.is_annotation(label)};
    const auto [id, is_new] =
        row_ids_.try_emplace(name << 31 | detail, static_cast<uint32_t>(rows_.size()));
    if (is_new) {
      Row& row = rows_.emplace_back();
      row.label = label;
      row.detail = detail;
    }
    return id;
  }

  uint32_t find_shapes(StringId dims) {
    const auto [id, is_new] = detail_ids_.try_emplace(index(dims), 0);
    if (is_new) id = details_.intern(canonical_shapes(stream_.strings().view(dims)));
    return id;
  }

  uint32_t find_stack(SliceId row) {
    if (const auto at = call_stacks_->find(row)) {
      const StringId text = call_stacks_->column()->string(*at);
      const auto [id, is_new] = detail_ids_.try_emplace(index(text), 0);
      if (is_new) id = details_.intern(std::string(stream_.strings().view(text)));
      return id;
    }
    if (!python_stacks_) return no_detail_;
    const uint32_t stack = python_stacks_->around(row);
    const auto [id, is_new] = stack_ids_.try_emplace(stack, 0);
    if (is_new) id = details_.intern(python_stacks_->text(stack, stack_depth_));
    return id;
  }

  void set_flops(OperatorWalkKey& key, LabelId label, size_t dims_at, SliceId row) {
    const StringId dims = dims_->column()->string(dims_at);
    const auto inputs_at = concrete_inputs_->find(row);
    const StringId inputs =
        inputs_at ? concrete_inputs_->column()->string(*inputs_at) : kEmptyString;
    const auto [of_inputs, is_new_pair] =
        input_ids_.try_emplace(uint64_t{index(dims)} << 32 | index(inputs), input_count_);
    if (is_new_pair) ++input_count_;
    const auto [at, is_new] = flops_ids_.try_emplace(uint64_t{index(label)} << 32 | of_inputs,
                                                     static_cast<uint32_t>(flops_.size()));
    if (is_new) {
      const StringPool& strings = stream_.strings();
      flops_.push_back(count_cost(*cost_rule_[index(label)],
                                  {.dims = strings.view(dims), .concrete = strings.view(inputs)})
                           .flops);
    }
    key.has_flops = flops_[at].has_value();
    key.flops = flops_[at].value_or(0);
  }

  const OperatorRules& rules_;
  const SliceStream& stream_;
  const SliceFilter& filter_;
  By by_;
  int stack_depth_;
  std::vector<Row> rows_;
  std::vector<uint32_t> label_group_;
  FlatMap row_ids_;  // (name, detail) to row
  DetailTable details_;
  uint32_t no_detail_ = 0;
  FlatMap detail_ids_;                      // StringId to detail
  std::vector<const CostRule*> cost_rule_;  // by label
  FlatMap input_ids_;                       // (dims, inputs) to a number
  uint32_t input_count_ = 0;
  FlatMap flops_ids_;                    // (label, inputs) to flops_
  int64_t costed_until_ns_ = INT64_MIN;  // the end of the outermost call that is counted
  std::vector<std::optional<uint64_t>> flops_;
  std::optional<PythonStacks> python_stacks_;
  FlatMap stack_ids_;  // Python's chains to detail
  std::optional<ArgCursor> dims_;
  std::optional<ArgCursor> concrete_inputs_;
  std::optional<ArgCursor> call_stacks_;
};

// Memory that was taken or given back outside of every call.
struct MemoryOutside {
  uint64_t allocations = 0;
  int64_t host_bytes = 0;
  int64_t device_bytes = 0;
};

bool is_host_memory(int16_t device_type) {
  return device_type == 0 || device_type == 2 || device_type == 5;  // CPU, MKLDNN, IDEEP
}

SliceMemory attribute_memory(const Trace& trace, const OperatorRules& rules,
                             const SliceFilter& filter, MemoryOutside& outside) {
  SliceMemory memory;
  const AllocationColumns& allocations = trace.allocations();
  if (allocations.time_ns.empty()) return memory;
  const SliceColumns& slices = trace.slices();
  memory.host_bytes.assign(slices.size(), 0);
  memory.device_bytes.assign(slices.size(), 0);
  for (size_t i = 0; i < allocations.time_ns.size(); ++i) {
    SliceId owner = allocations.slice[i];
    while (owner != kNoSlice) {
      const HostRole role = rules.role(slices.label[index(owner)]);
      if (role != HostRole::kNone && role != HostRole::kHiddenRuntime) break;
      owner = slices.parent[index(owner)];
    }
    const bool is_host = is_host_memory(allocations.device_type[i]);
    if (owner != kNoSlice) {
      (is_host ? memory.host_bytes : memory.device_bytes)[index(owner)] += allocations.bytes[i];
    } else if (filter.takes_time(allocations.time_ns[i]) &&
               filter.takes_track(allocations.track[i])) {
      ++outside.allocations;
      (is_host ? outside.host_bytes : outside.device_bytes) += allocations.bytes[i];
    }
  }
  return memory;
}

struct Known {
  bool device = false;
  bool memory = false;
};

void push_known(Column& column, bool known, int64_t value) {
  if (known) {
    column.push(value);
  } else {
    column.push_null();
  }
}

Table make_table(const OperatorTable& operators, const SliceStream& stream, By by, Known known,
                 const MemoryOutside& outside) {
  Table table("operators");
  const auto add_int = [&](const char* name, Unit unit) -> Column& {
    return table.add(name, ColumnType::kInt, unit);
  };
  Column& name = table.add("name", ColumnType::kString);
  Column& calls = add_int("calls", Unit::kCount);
  Column& self_host = add_int("self_host_ns", Unit::kNs);
  Column& total_host = add_int("total_host_ns", Unit::kNs);
  Column& self_device = add_int("self_device_ns", Unit::kNs);
  Column& total_device = add_int("total_device_ns", Unit::kNs);
  Column& mean_host = add_int("mean_host_ns", Unit::kNs);
  Column& self_memory = add_int("self_memory_bytes", Unit::kBytes);
  Column& memory = add_int("memory_bytes", Unit::kBytes);
  Column& flops = add_int("flops", Unit::kCount);
  Column* detail = nullptr;
  if (by == By::kShape) detail = &table.add("input_shapes", ColumnType::kString);
  if (by == By::kStack) detail = &table.add("stack", ColumnType::kString);
  Column& kind = table.add("kind", ColumnType::kString);
  Column& self_device_memory = add_int("self_device_memory_bytes", Unit::kBytes);
  Column& device_memory = add_int("device_memory_bytes", Unit::kBytes);
  Column& eligible = table.add("tensor_core_eligible", ColumnType::kBool);
  Column& self_tensor =
      table.add("tensor_core_self_fraction", ColumnType::kDouble, Unit::kFraction);
  Column& total_tensor =
      table.add("tensor_core_total_fraction", ColumnType::kDouble, Unit::kFraction);

  const auto push_row = [&](std::string_view row_name, std::string_view row_kind, const Row& row) {
    name.push(row_name);
    calls.push(static_cast<int64_t>(row.calls));
    self_host.push(row.self_host_ns);
    total_host.push(row.total_host_ns);
    push_known(self_device, known.device, row.self_device_ns);
    push_known(total_device, known.device, row.total_device_ns);
    const auto count = static_cast<int64_t>(row.calls);
    mean_host.push((row.total_host_ns + count / 2) / count);
    push_known(self_memory, known.memory, row.self_memory_bytes);
    push_known(memory, known.memory, row.memory_bytes);
    push_known(flops, row.has_flops, static_cast<int64_t>(row.flops));
    if (detail != nullptr) detail->push(std::string_view(operators.detail_text(row)));
    kind.push(row_kind);
    push_known(self_device_memory, known.memory, row.self_device_memory_bytes);
    push_known(device_memory, known.memory, row.device_memory_bytes);
    push_known(eligible, known.device, int64_t{row.eligible});
    const auto push_fraction = [&](Column& column, int64_t part_ns, int64_t whole_ns) {
      if (!known.device) return column.push_null();
      column.push(whole_ns > 0 ? static_cast<double>(part_ns) / static_cast<double>(whole_ns)
                               : 0.0);
    };
    push_fraction(self_tensor, row.self_tensor_core_ns, row.self_device_ns);
    push_fraction(total_tensor, row.total_tensor_core_ns, row.total_device_ns);
  };

  for (const Row& row : operators.rows()) {
    if (row.calls == 0) continue;
    const Label& label = stream.labels()[row.label];
    const std::string_view label_name = stream.strings().view(label.name);
    push_row(is_step_name(label_name) ? kStepRowName : label_name, kind_name(label.kind), row);
  }
  if (outside.allocations > 0) {
    Row row;
    row.calls = outside.allocations;
    row.self_memory_bytes = row.memory_bytes = outside.host_bytes;
    row.self_device_memory_bytes = row.device_memory_bytes = outside.device_bytes;
    push_row("[memory]", "memory", row);
  }
  return table;
}

Result<By> parse_by(const std::string& text) {
  if (text.empty() || text == "name") return By::kName;
  if (text == "shape") return By::kShape;
  if (text == "stack") return By::kStack;
  return Status::error("--by " + text + ": operators can be grouped by name, shape or stack");
}

// `trace` is null for a stream.
Result<Table> make(SliceStream& stream, const Trace* trace, const SliceFilter& filter,
                   const TableOptions& options) {
  const Result<By> by = parse_by(options.by);
  if (!by) return by.status();
  Result<Launches> streamed = Launches();
  std::shared_ptr<const Launches> kept;
  if (trace != nullptr) {
    kept = Launches::of(*trace);
  } else {
    streamed = Launches::build(stream);
    if (!streamed) return streamed.status();
  }
  const Launches& launches = trace != nullptr ? *kept : *streamed;
  const OperatorRules rules =
      trace != nullptr ? OperatorRules(*trace) : OperatorRules(stream.strings(), stream.labels());
  MemoryOutside outside;
  SliceMemory memory;
  if (trace != nullptr) memory = attribute_memory(*trace, rules, filter, outside);
  const double share = trace == nullptr ? 1 : operator_share(*trace);
  // In the older exporters' tables (TensorBoard's) memory alone is no row. Where operators were
  // sampled it is mostly that of operators which were not recorded.
  if (rules.is_legacy() || share < 1) outside = {};

  OperatorTable operators(rules, stream, filter, *by, options.depth, trace);
  OperatorWalk walk(rules, launches, memory, operators);
  SliceBlock block;
  while (true) {
    const Result<bool> more = stream.next(block);
    if (!more) return more.status();
    if (!*more) break;
    if (!filter.takes_track(block.track)) continue;
    operators.begin_block(block);
    walk.add(block, stream.strings());
  }
  walk.finish();
  if (trace != nullptr && filter.takes_all()) {
    trace->derived().get<OperatorLaunches>(OperatorLaunches::kDerivedName,
                                           [&] { return walk.launched(); });
  }

  if (share < 1) operators.scale_up(share);
  const Known known{.device = !launches.empty(), .memory = !memory.host_bytes.empty()};
  Table table = make_table(operators, stream, *by, known, outside);
  if (share < 1) {
    table.notes.push_back(fmt::format(
        "operators were recorded in {:.2g} % of the time: calls, times, memory and FLOPs are "
        "estimates of the whole",
        100 * share));
  }
  if (!rules.has_operators()) {
    table.notes.push_back("no operators in this trace; the view functions lists functions");
  }
  return table;
}

}  // namespace

Result<Table> operators(const Trace& trace, const TableOptions& options) {
  const Result<SliceFilter> filter = SliceFilter::make(trace, options);
  if (!filter) return filter.status();
  TraceSliceStream stream(trace);
  return make(stream, &trace, *filter, options);
}

Result<Table> stream_operators(SliceStream& stream, const TableOptions& options) {
  if (!options.track.empty() || options.range.begin_ns != 0 || options.range.end_ns != INT64_MAX) {
    return Status::error("--range and --track need the whole trace in memory");
  }
  return make(stream, nullptr, SliceFilter(), options);
}

}  // namespace stepscope
