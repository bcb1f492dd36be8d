#include "analyze/operator_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "analyze/launches.h"
#include "analyze/operator_rules.h"
#include "analyze/operator_walk.h"
#include "analyze/training_thread.h"
#include "base/flat_map.h"
#include "trace/nesting.h"
#include "trace/slice_stream.h"
#include "trace/static_profile.h"

namespace stepscope {
namespace {

double to_seconds(int64_t ns) { return static_cast<double>(ns) / 1e9; }

// NaN gives way.
void raise_to(double& value, double other) {
  if (!(value >= other)) value = other;
}

// "nn.Module: layers.0 (Linear)" is layers.0.
std::string_view module_path(std::string_view name) {
  constexpr std::string_view kModulePrefix = "nn.Module: ";
  if (name.starts_with(kModulePrefix)) name.remove_prefix(kModulePrefix.size());
  return name.substr(0, name.find(" ("));
}

}  // namespace

// Makes records of the calls that an OperatorWalk reports.
class CallRecords {
 public:
  CallRecords(OperatorRecords& out, const OperatorRules& rules, bool has_device)
      : out_(out), trace_(*out.trace_), rules_(rules), has_device_(has_device) {
    for (const Label& label : trace_.labels().all()) {
      const std::string_view name = trace_.string(label.name);
      rule_of_.push_back(label.kind == SliceKind::kOperator ? find_cost_rule(name) : nullptr);
      is_module_.push_back(is_module_call(trace_, label));
    }
  }

  void begin_block(const SliceBlock& block) {
    const StringPool& strings = trace_.strings();
    dims_.emplace(block, strings, "Input Dims", ArgType::kJson);
    if (dims_->column() == nullptr) dims_.emplace(block, strings, "Input dims", ArgType::kJson);
    types_.emplace(block, strings, "Input type", ArgType::kJson);
    concrete_.emplace(block, strings, "Concrete Inputs", ArgType::kJson);
    if (block.starts_track) {
      costed_until_ns_ = INT64_MIN;
      next_module_ = block.first_row;
      modules_.clear();
    }
  }

  OperatorWalkKey open(const SliceBlock& block, size_t i, LabelId label) {
    Draft& draft = drafts_.emplace_back();
    const SliceId row = block.row(i);
    const int64_t end_ns = block.start_ns[i] + block.dur_ns(i);
    draft.record.slice = row;
    draft.record.name = rules_.row_name(label);
    draft.record.type = draft.record.name;
    draft.is_operator = trace_.labels()[label].kind == SliceKind::kOperator;
    draft.is_inside = end_ns <= costed_until_ns_;
    if (!draft.is_inside) {
      draft.record.module = find_module(block, row, block.start_ns[i], end_ns);
      set_cost(draft, label, row);
      if (draft.has_cost) costed_until_ns_ = end_ns;
    }
    return {.row = static_cast<uint32_t>(drafts_.size() - 1)};
  }

  void close(const OperatorCall& call) {
    Draft& draft = drafts_[call.key.row];
    if (!draft.is_operator || draft.is_inside) return;
    OperatorRecord& record = draft.record;
    draft.is_closed = true;
    record.host.to_end_s = to_seconds(draft.has_cost ? call.dur_ns : call.self_host_ns);
    record.host.to_kernel_s = 0;
    if (!has_device_) {
      record.device = record.host;
      return;
    }
    const int64_t device_ns = !call.has_effects ? 0
                              : draft.has_cost
                                  ? call.effects.self_device_ns + call.effects.children_device_ns
                                  : call.effects.self_device_ns;
    if (device_ns > 0) record.device = {to_seconds(device_ns), 0};
  }

  void finish() {
    for (Draft& draft : drafts_) {
      if (draft.is_closed) out_.records_.push_back(draft.record);
    }
  }

 private:
  struct Draft {
    OperatorRecord record;
    bool is_operator = false;
    bool has_cost = false;
    bool is_inside = false;  // of a call that is counted with all that it calls
    bool is_closed = false;
  };
  struct OpenModule {
    StringId name;
    int64_t end_ns;
  };

  // The innermost module around a call. Rows come in order, so that modules are met on the way.
  StringId find_module(const SliceBlock& block, SliceId row, int64_t start_ns, int64_t end_ns) {
    for (; next_module_ < index(row); ++next_module_) {
      const size_t at = next_module_ - block.first_row;
      const LabelId label = block.label[at];
      if (!is_module_[index(label)]) continue;
      const int64_t module_end_ns = block.start_ns[at] + block.dur_ns(at);
      close_modules(block.start_ns[at], module_end_ns);
      modules_.push_back({trace_.labels()[label].name, module_end_ns});
    }
    close_modules(start_ns, end_ns);
    return modules_.empty() ? kEmptyString : modules_.back().name;
  }

  void close_modules(int64_t start_ns, int64_t end_ns) {
    while (!modules_.empty() && !Nesting::holds(modules_.back().end_ns, start_ns, end_ns)) {
      modules_.pop_back();
    }
  }

  void set_cost(Draft& draft, LabelId label, SliceId row) {
    const CostRule* rule = rule_of_[index(label)];
    const auto dims = text_of(*dims_, row);
    if (rule == nullptr || dims == kEmptyString) return;
    const StringId types = text_of(*types_, row);
    const StringId concrete = text_of(*concrete_, row);
    const uint32_t inputs = number_of(number_of(index(dims), index(types)), index(concrete));
    const auto [cost, is_new] = cost_ids_.try_emplace(uint64_t{index(label)} << 32 | inputs,
                                                      static_cast<uint32_t>(out_.costs_.size()));
    if (is_new) {
      out_.costs_.push_back(count_cost(*rule, {.dims = trace_.string(dims),
                                               .types = trace_.string(types),
                                               .concrete = trace_.string(concrete)}));
    }
    const OperatorCost& found = out_.costs_[cost];
    draft.record.cost = cost;
    draft.has_cost = found.flops || found.bytes;
    if (found.flops.value_or(0) > 0) draft.record.computation = static_cast<double>(*found.flops);
    if (found.bytes) draft.record.memory = static_cast<double>(*found.bytes);
  }

  static StringId text_of(ArgCursor& cursor, SliceId row) {
    const auto at = cursor.find(row);
    return at ? cursor.column()->string(*at) : kEmptyString;
  }

  uint32_t number_of(uint32_t a, uint32_t b) {
    const auto [number, is_new] = pair_ids_.try_emplace(uint64_t{a} << 32 | b, pair_count_);
    if (is_new) ++pair_count_;
    return number;
  }

  OperatorRecords& out_;
  const Trace& trace_;
  const OperatorRules& rules_;
  bool has_device_;
  std::vector<const CostRule*> rule_of_;  // by label
  std::vector<uint8_t> is_module_;        // by label
  std::vector<Draft> drafts_;
  std::optional<ArgCursor> dims_, types_, concrete_;
  int64_t costed_until_ns_ = INT64_MIN;
  uint32_t next_module_ = 0;
  std::vector<OpenModule> modules_;
  FlatMap pair_ids_;
  uint32_t pair_count_ = 0;
  FlatMap cost_ids_;  // (label, inputs) to the cost
};

OperatorRecords OperatorRecords::find(const Trace& trace) {
  OperatorRecords records(trace);
  records.is_static_ = trace.find_args(static_profile::kPlace, ArgType::kInt) != nullptr;
  if (records.is_static_) {
    records.add_static();
  } else {
    records.add_calls();
  }
  return records;
}

void OperatorRecords::add_static() {
  const ArgColumn* places = trace_->find_args(static_profile::kPlace, ArgType::kInt);
  const ArgColumn* kernels = trace_->find_args(static_profile::kKernNs, ArgType::kInt);
  const ArgColumn* computation = trace_->find_args(static_profile::kComputation, ArgType::kInt);
  const ArgColumn* memory = trace_->find_args(static_profile::kMemory, ArgType::kInt);
  const SliceColumns& slices = trace_->slices();
  const auto value_of = [](const ArgColumn* column, SliceId row) -> std::optional<int64_t> {
    const auto at = column != nullptr ? column->find(row) : std::nullopt;
    return at ? std::optional<int64_t>(column->ints[*at]) : std::nullopt;
  };
  // By place, which a hostile file may have made anything.
  std::vector<std::pair<int64_t, SliceId>> rows;
  for (size_t i = 0; i < places->rows.size(); ++i) {
    rows.emplace_back(places->ints[i], places->rows[i]);
  }
  std::sort(rows.begin(), rows.end());
  for (size_t i = 0; i < rows.size(); ++i) {
    const SliceId row = rows[i].second;
    if (i == 0 || rows[i].first != rows[i - 1].first) {
      OperatorRecord& record = records_.emplace_back();
      const Label& label = trace_->labels()[slices.label[index(row)]];
      record.slice = row;
      record.name = label.name;
      record.type = label.category;
      // MegEngine says "N/A" for operators that compute nothing.
      if (const auto flops = value_of(computation, row); flops.value_or(0) != 0) {
        record.computation = static_cast<double>(*flops);
      }
      if (const auto bytes = value_of(memory, row)) record.memory = static_cast<double>(*bytes);
    }
    const bool is_host =
        trace_->tracks()[index(trace_->find_track_of(row))].kind != TrackKind::kStream;
    OperatorTimes& times = is_host ? records_.back().host : records_.back().device;
    // A difference of two numbers of seconds, as MegEngine takes it, to its last bit.
    const int64_t start_ns = slices.start_ns[index(row)];
    const double start_s = to_seconds(start_ns);
    raise_to(times.to_end_s, to_seconds(slices.end_ns(index(row))) - start_s);
    if (const auto kern_ns = value_of(kernels, row)) {
      raise_to(times.to_kernel_s, to_seconds(start_ns + *kern_ns) - start_s);
    }
  }
}

void OperatorRecords::add_calls() {
  const std::shared_ptr<const Launches> launches = Launches::of(*trace_);
  const OperatorRules rules(*trace_);
  const SliceMemory no_memory;
  has_device_ = !launches->empty();
  CallRecords calls(*this, rules, has_device_);
  OperatorWalk walk(rules, *launches, no_memory, calls);
  TraceSliceStream stream(*trace_);
  SliceBlock block;
  for (auto more = stream.next(block); more && *more; more = stream.next(block)) {
    calls.begin_block(block);
    walk.add(block, stream.strings());
  }
  walk.finish();
  calls.finish();
  if (records_.empty()) {
    notes_.push_back("no operators in this trace; stepscope report shows what there is");
    return;
  }
  if (!has_device_) notes_.push_back("the device is the CPU: operators run on the host");
  const auto is_torchs = [&](const OperatorRecord& record) {
    return trace_->string(record.name).starts_with("aten::");
  };
  if (costs_.empty() && std::any_of(records_.begin(), records_.end(), is_torchs)) {
    notes_.push_back(
        "no shapes in this trace, so that computation and memory are not known "
        "(record_shapes=True; "
        "stepscope run --shapes)");
  }
}

std::string OperatorRecords::name(const OperatorRecord& record) const {
  const std::string_view module = module_path(trace_->string(record.module));
  const std::string_view own = trace_->string(record.name);
  return module.empty() ? std::string(own) : fmt::format("{}.{}", module, own);
}

std::string OperatorRecords::id(const OperatorRecord& record) const {
  if (!is_static_) return std::to_string(index(record.slice));
  if (const ArgColumn* ids = trace_->find_args(static_profile::kId, ArgType::kInt)) {
    if (const auto at = ids->find(record.slice)) return std::to_string(ids->ints[*at]);
  }
  return std::string(text(record, static_profile::kId, ArgType::kString));
}

std::string_view OperatorRecords::text(const OperatorRecord& record, std::string_view key,
                                       ArgType type) const {
  const ArgColumn* column = trace_->find_args(key, type);
  const auto at = column != nullptr ? column->find(record.slice) : std::nullopt;
  return at ? trace_->string(column->string(*at)) : std::string_view();
}

std::optional<std::vector<Shape>> OperatorRecords::in_shapes(const OperatorRecord& record) const {
  if (record.cost < costs_.size()) return costs_[record.cost].inputs;
  const std::string_view json = is_static_ ? text(record, static_profile::kInShapes, ArgType::kJson)
                                           : text(record, "Input Dims", ArgType::kJson);
  return json.empty() ? std::nullopt : std::optional(parse_shapes(json));
}

std::optional<std::vector<Shape>> OperatorRecords::in_layouts(const OperatorRecord& record) const {
  std::string json(text(record, static_profile::kInLayouts, ArgType::kJson));
  if (json.empty()) return std::nullopt;
  constexpr std::string_view kNull = "null";
  for (size_t at = json.find(kNull); at != json.npos; at = json.find(kNull, at)) {
    json.replace(at, kNull.size(), "[]");
  }
  return parse_shapes(json);
}

std::optional<std::vector<Shape>> OperatorRecords::out_shapes(const OperatorRecord& record) const {
  if (is_static_) {
    const std::string_view json = text(record, static_profile::kOutShapes, ArgType::kJson);
    return json.empty() ? std::nullopt : std::optional(parse_shapes(json));
  }
  if (record.cost >= costs_.size() || costs_[record.cost].outputs.empty()) return std::nullopt;
  return costs_[record.cost].outputs;
}

bool OperatorRecords::has_input_type(const OperatorRecord& record, std::string_view type) const {
  const std::vector<std::string> types = input_types(record);
  return std::find(types.begin(), types.end(), type) != types.end();
}

std::vector<std::string> OperatorRecords::input_types(const OperatorRecord& record) const {
  std::vector<std::string> types;
  if (!is_static_) {
    types = parse_strings(text(record, "Input type"));
    std::erase_if(types, [](const std::string& type) { return element_bytes(type) == 0; });
    return types;
  }
  std::string_view list = text(record, static_profile::kInputTypes, ArgType::kString);
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    types.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return types;
}

}  // namespace stepscope
