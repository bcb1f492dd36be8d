// The view `input`: the stages of each input pipeline (tf.data's iterators), as a tree, with what
// they cost and how long the program waited for them. What the figures mean: input_pipelines.h.
#include <memory>
#include <string>

#include "analyze/input_pipelines.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

std::string text_of(const std::vector<std::pair<std::string, std::string>>& parameters) {
  std::string text;
  for (const auto& [key, value] : parameters) {
    if (!text.empty()) text += ' ';
    text += key + '=' + value;
  }
  return text;
}

class InputTable {
 public:
  explicit InputTable(Table& table)
      : pipeline_(table.add("pipeline", ColumnType::kString)),
        name_(table.add("name", ColumnType::kString)),
        depth_(table.add("depth", ColumnType::kInt)),
        calls_(table.add("calls", ColumnType::kInt, Unit::kCount)),
        total_(table.add("total_ns", ColumnType::kInt, Unit::kNs)),
        self_(table.add("self_ns", ColumnType::kInt, Unit::kNs)),
        mean_(table.add("mean_ns", ColumnType::kInt, Unit::kNs)),
        p95_(table.add("p95_ns", ColumnType::kInt, Unit::kNs)),
        wait_(table.add("wait_ns", ColumnType::kInt, Unit::kNs)),
        blocking_(table.add("blocking_fraction", ColumnType::kDouble, Unit::kFraction)),
        work_(table.add("batch_work_ns", ColumnType::kInt, Unit::kNs)),
        is_async_(table.add("is_async", ColumnType::kBool)),
        is_bottleneck_(table.add("is_bottleneck", ColumnType::kBool)),
        parameters_(table.add("parameters", ColumnType::kString)),
        dataset_(table.add("dataset", ColumnType::kString)),
        long_name_(table.add("long_name", ColumnType::kString)) {}

  void add(const std::string& pipeline, const InputStage& stage, bool is_bottleneck) {
    const auto calls = static_cast<int64_t>(stage.calls);
    pipeline_.push(pipeline);
    name_.push(stage.name);
    depth_.push(int64_t{stage.depth});
    calls_.push(calls);
    total_.push(stage.total_ns);
    self_.push(stage.self_ns);
    mean_.push(stage.total_ns / calls);
    p95_.push(stage.p95_ns);
    wait_.push(stage.wait_ns);
    blocking_.push(static_cast<double>(stage.blocking_calls) / static_cast<double>(calls));
    work_.push(static_cast<int64_t>(stage.batch_work_ns()));
    is_async_.push(int64_t{stage.is_async});
    is_bottleneck_.push(int64_t{is_bottleneck});
    parameters_.push(text_of(stage.parameters));
    dataset_.push(stage.dataset);
    long_name_.push(stage.long_name);
  }

 private:
  Column &pipeline_, &name_, &depth_, &calls_, &total_, &self_, &mean_, &p95_, &wait_, &blocking_,
      &work_, &is_async_, &is_bottleneck_, &parameters_, &dataset_, &long_name_;
};

}  // namespace

Result<Table> input(const Trace& trace, const TableOptions&) {
  const std::shared_ptr<const InputPipelines> input = InputPipelines::of(trace);
  Table table("input");
  InputTable out(table);
  for (size_t i = 0; i < input->pipelines.size(); ++i) {
    const InputPipeline& pipeline = input->pipelines[i];
    const std::string name = (pipeline.is_device ? "device " : "host ") + std::to_string(i);
    for (size_t k = 0; k < pipeline.stages.size(); ++k) {
      out.add(name, pipeline.stages[k], k == pipeline.bottleneck);
    }
    if (pipeline.feeds) {
      table.notes.push_back(name + " makes what device " + std::to_string(*pipeline.feeds) +
                            " hands on");
    }
  }
  if (input->pipelines.empty()) {
    table.notes.push_back(
        "no iterators of tf.data in this trace; what a DataLoader waits for: --view findings");
  }
  if (input->orphans > 0) {
    table.notes.push_back(std::to_string(input->orphans) +
                          " calls of iterators for requests that were not recorded are left out");
  }
  if (input->waits.is_estimated && input->waits.steps > 0) {
    table.notes.push_back(
        "no step scopes in this trace; a step is taken from one request for input to the next");
  }
  return table;
}

}  // namespace stepscope
