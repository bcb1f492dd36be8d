// The view `modules`: calls of nn.Module by name, as our own collector records them, torch.profiler
// with with_stack=True, and Lightning's profiler. self_host_ns is a call's time without the
// modules that it calls; total_host_ns counts a module once however often it stands on the stack;
// operators are the calls of operators in it, directly or through others, on the same thread.
#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/operator_rules.h"
#include "analyze/slice_filter.h"
#include "analyze/training_thread.h"
#include "analyze/views.h"
#include "trace/nesting.h"

namespace stepscope {
namespace {

constexpr std::string_view kPrefix = "nn.Module: ";

struct ModuleName {
  std::string_view name;
  std::string_view class_name;  // "" where it is not known
};

// "torch.nn.modules.linear.Linear: layers.0"
ModuleName parse_lightning_name(std::string_view name) {
  const size_t colon = name.find(": ");
  if (colon == name.npos) return {name, {}};
  const std::string_view class_path = name.substr(0, colon);
  return {name.substr(colon + 2), class_path.substr(class_path.rfind('.') + 1)};
}

// "nn.Module: layers.0 (Linear)" and "nn.Module: Net" are ours, "nn.Module: Linear_0" is Kineto's.
ModuleName parse_name(std::string_view name, bool is_numbered) {
  if (name.starts_with(kLightningModulePrefix)) {
    return parse_lightning_name(name.substr(kLightningModulePrefix.size()));
  }
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  const size_t parenthesis = name.rfind(" (");
  if (parenthesis != name.npos && name.ends_with(')')) {
    return {name.substr(0, parenthesis),
            name.substr(parenthesis + 2, name.size() - parenthesis - 3)};
  }
  if (!is_numbered) return {name, name};
  const size_t underscore = name.find_last_not_of("0123456789");
  if (underscore == name.npos || underscore + 1 == name.size() || name[underscore] != '_') {
    return {name, {}};
  }
  return {name, name.substr(0, underscore)};
}

struct Module {
  LabelId label{};  // the first with its name
  uint64_t calls = 0;
  int64_t self_ns = 0;
  int64_t total_ns = 0;
  uint64_t operators = 0;
  uint32_t open_calls = 0;
};

class ModuleCounter {
 public:
  explicit ModuleCounter(const Trace& trace)
      : trace_(trace), rules_(trace.strings(), trace.labels()) {
    const std::vector<Label>& labels = trace.labels().all();
    std::unordered_map<uint32_t, uint32_t> modules_by_name;
    for (size_t i = 0; i < labels.size(); ++i) {
      module_of_.push_back(kNone);
      if (!is_module_call(trace, labels[i])) continue;
      const auto [it, is_new] =
          modules_by_name.try_emplace(index(labels[i].name), static_cast<uint32_t>(modules.size()));
      if (is_new) modules.push_back({.label = LabelId{static_cast<uint32_t>(i)}});
      module_of_[i] = it->second;
    }
  }

  void add_track(const Track& track, const SliceFilter& filter) {
    const SliceColumns& slices = trace_.slices();
    for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
      const LabelId label = slices.label[row];
      const int64_t start_ns = slices.start_ns[row];
      if (!filter.takes_time(start_ns)) continue;
      const uint32_t module = module_of_[index(label)];
      if (module != kNone) {
        open(module, start_ns, slices.end_ns(row));
      } else if (rules_.role(label) == HostRole::kOperator && !rules_.is_annotation(label)) {
        close_before(start_ns, slices.end_ns(row));
        if (!open_.empty()) ++open_.back().operators;
      }
    }
    while (!open_.empty()) close();
  }

  std::vector<Module> modules;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct OpenCall {
    uint32_t module;
    int64_t start_ns;
    int64_t end_ns;
    int64_t children_ns = 0;
    uint64_t operators = 0;
  };

  void open(uint32_t module, int64_t start_ns, int64_t end_ns) {
    close_before(start_ns, end_ns);
    if (!open_.empty()) open_.back().children_ns += end_ns - start_ns;
    ++modules[module].calls;
    ++modules[module].open_calls;
    open_.push_back({module, start_ns, end_ns});
  }

  void close_before(int64_t start_ns, int64_t end_ns) {
    while (!open_.empty() && !Nesting::holds(open_.back().end_ns, start_ns, end_ns)) close();
  }

  void close() {
    const OpenCall call = open_.back();
    open_.pop_back();
    Module& module = modules[call.module];
    const int64_t dur_ns = call.end_ns - call.start_ns;
    module.self_ns += dur_ns - call.children_ns;
    if (--module.open_calls == 0) {
      module.total_ns += dur_ns;
      module.operators += call.operators;
    }
    if (!open_.empty()) open_.back().operators += call.operators;
  }

  const Trace& trace_;
  OperatorRules rules_;
  std::vector<uint32_t> module_of_;  // by label
  std::vector<OpenCall> open_;
};

}  // namespace

Result<Table> modules(const Trace& trace, const TableOptions& options) {
  const Result<SliceFilter> filter = SliceFilter::make(trace, options);
  if (!filter) return filter.status();
  ModuleCounter counter(trace);
  for (size_t i = 0; i < trace.tracks().size() && !counter.modules.empty(); ++i) {
    if (filter->takes_track(TrackId{static_cast<uint32_t>(i)})) {
      counter.add_track(trace.tracks()[i], *filter);
    }
  }

  Table table("modules");
  Column& name = table.add("name", ColumnType::kString);
  Column& class_name = table.add("class", ColumnType::kString);
  Column& calls = table.add("calls", ColumnType::kInt, Unit::kCount);
  Column& self_host = table.add("self_host_ns", ColumnType::kInt, Unit::kNs);
  Column& total_host = table.add("total_host_ns", ColumnType::kInt, Unit::kNs);
  Column& operators = table.add("operators", ColumnType::kInt, Unit::kCount);
  for (const Module& module : counter.modules) {
    if (module.calls == 0) continue;
    const Label& label = trace.labels()[module.label];
    const ModuleName parsed =
        parse_name(trace.string(label.name), trace.string(label.category) != "nn_module");
    name.push(parsed.name);
    parsed.class_name.empty() ? class_name.push_null() : class_name.push(parsed.class_name);
    calls.push(static_cast<int64_t>(module.calls));
    self_host.push(module.self_ns);
    total_host.push(module.total_ns);
    operators.push(static_cast<int64_t>(module.operators));
  }
  if (table.rows() == 0) {
    table.notes.push_back(
        "no module calls in this trace (torch.profiler records them with with_stack=True)");
  }
  return table;
}

}  // namespace stepscope
