#include "advise/tf_data_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "advise/finding_text.h"
#include "advise/rules.h"

namespace stepscope {
namespace {

struct Written {
  std::string_view stage, call;
};
constexpr std::array<Written, 24> kCalls = {{
    {"Map", ".map()"},
    {"ParallelMap", ".map()"},
    {"MapAndBatch", ".map().batch()"},
    {"Filter", ".filter()"},
    {"FlatMap", ".flat_map()"},
    {"Interleave", ".interleave()"},
    {"ParallelInterleave", ".interleave()"},
    {"LegacyParallelInterleave", ".interleave()"},
    {"Batch", ".batch()"},
    {"ParallelBatch", ".batch()"},
    {"PaddedBatch", ".padded_batch()"},
    {"Unbatch", ".unbatch()"},
    {"Shuffle", ".shuffle()"},
    {"Prefetch", ".prefetch()"},
    {"Zip", "Dataset.zip()"},
    {"Generator", "Dataset.from_generator()"},
    {"Range", "Dataset.range()"},
    {"TensorSlice", "Dataset.from_tensor_slices()"},
    {"TFRecord", "TFRecordDataset"},
    {"TextLine", "TextLineDataset"},
    {"FixedLengthRecord", "FixedLengthRecordDataset"},
    {"CSV", "CsvDataset"},
    {"MemoryCache", ".cache()"},
    {"ParseExample", "parse_example_dataset()"},
}};

}  // namespace

std::string call_of_stage(const InputStage& stage) {
  const std::string_view kind = stage.kind();
  const auto known = std::find_if(kCalls.begin(), kCalls.end(),
                                  [&](const Written& written) { return written.stage == kind; });
  return std::string(known == kCalls.end() ? kind : known->call);
}

bool is_source(const InputPipeline& pipeline, uint32_t stage) {
  return std::none_of(pipeline.stages.begin(), pipeline.stages.end(),
                      [&](const InputStage& other) { return other.parent == stage; });
}

bool is_below_cache(const InputPipeline& pipeline, uint32_t stage) {
  for (uint32_t at = stage; at != kNoStage; at = pipeline.stages[at].parent) {
    if (pipeline.stages[at].name.find("Cache") != std::string::npos) return true;
  }
  return false;
}

std::string describe_stage(const InputStage& stage, bool is_source) {
  if (is_source) return "its source, " + call_of_stage(stage);
  const bool has_function = stage.function_runs > 0;
  return (has_function ? "the function of " : "") + call_of_stage(stage);
}

TfDataModel::TfDataModel(const InputPipelines& input) : input_(input), pipeline_(*input.working()) {
  const double steps = static_cast<double>(input.waits.steps) + 1;  // the first is not among them
  const auto requests = static_cast<double>(input.asked()->requests.count);
  requests_per_step_ = std::max(1.0, std::round(requests / steps));
}

const InputStage* TfDataModel::slowest() const {
  return pipeline_.bottleneck == kNoStage ? nullptr : &pipeline_.stages[pipeline_.bottleneck];
}

int64_t TfDataModel::cores() const { return std::max<int64_t>(input_.cores, 1); }

double TfDataModel::work_ns(const InputPipeline& pipeline) const {
  double sum = 0;
  for (const InputStage& stage : pipeline.stages) sum += stage.batch_work_ns();
  return sum * requests_per_step_;
}

double TfDataModel::predict(const InputPipeline& pipeline, bool adds_prefetch) const {
  const double computing_ns = input_.waits.step_ns - input_.waits.wait_ns;
  double caller_ns = pipeline.sections.front().batch_ns * requests_per_step_;
  double ahead_ns = 0;
  for (size_t i = 1; i < pipeline.sections.size(); ++i) {
    ahead_ns = std::max(ahead_ns, pipeline.sections[i].batch_ns * requests_per_step_);
  }
  // A device pipeline asks for it ahead of the program.
  if (adds_prefetch || &input_.pipelines.front() != &pipeline_) {
    ahead_ns = std::max(ahead_ns, caller_ns);
    caller_ns = 0;
  }
  const auto cores = static_cast<double>(this->cores());
  const double busy_ns = std::min(input_.busy_cores, cores) * input_.waits.step_ns;
  const double others_ns = std::max(0.0, busy_ns - work_ns(pipeline_));
  const double on_cores_ns = (work_ns(pipeline) + others_ns) / cores;
  return std::max({computing_ns + caller_ns, ahead_ns, on_cores_ns});
}

double TfDataModel::step_ns_with(const Change& change, bool adds_prefetch) const {
  InputPipeline changed = pipeline_;
  change(changed);
  changed.find_sections(input_.cores);
  const double now_ns = predict(pipeline_, false);
  const double then_ns = predict(changed, adds_prefetch);
  const double ratio = now_ns > 0 ? std::min(1.0, then_ns / now_ns) : 1;
  // No change of the input makes a step shorter than its computing.
  return std::max(step_ns() * ratio, step_ns() - input_.waits.wait_ns);
}

double TfDataModel::step_ns_with_prefetch() const {
  return step_ns_with([](InputPipeline&) {}, true);
}

double TfDataModel::step_ns_with_parallel(uint32_t stage) const {
  return step_ns_with([&](InputPipeline& pipeline) {
    InputStage& changed = pipeline.stages[stage];
    changed.is_async = true;
    std::erase_if(changed.parameters, [](const auto& p) { return p.first == "parallelism"; });
    changed.parameters.emplace_back("parallelism", std::to_string(cores()));
  });
}

double TfDataModel::step_ns_with_cache(uint32_t stage) const {
  return step_ns_with([&](InputPipeline& pipeline) {
    std::vector<uint8_t> is_kept(pipeline.stages.size(), 0);
    for (uint32_t i = 0; i < pipeline.stages.size(); ++i) {
      const uint32_t parent = pipeline.stages[i].parent;
      is_kept[i] = i == stage || (parent != kNoStage && is_kept[parent]);
      if (is_kept[i]) pipeline.stages[i].work_ns = 0;
    }
  });
}

double TfDataModel::saved(double new_step_ns) const {
  return step_ns() > 0 ? std::clamp(1 - new_step_ns / step_ns(), 0.0, 1.0) : 0;
}

Finding TfDataModel::make_finding(std::string id, const InputStage& stage,
                                  double new_step_ns) const {
  const auto number = static_cast<uint32_t>(&stage - pipeline_.stages.data());
  Finding finding;
  finding.id = std::move(id);
  finding.at_stake_fraction = saved(new_step_ns);
  finding.where = stage.dataset.empty() ? stage.long_name : stage.dataset;
  finding.title = in_percent(wait_share()) + " of each step waits for tf.data, most of all for " +
                  describe_stage(stage, is_source(pipeline_, number)) + ": " +
                  in_time(static_cast<int64_t>(stage.batch_work_ns())) + " of work for a batch";
  finding.figures = {{"step", step_ns(), Unit::kNs},
                     {"wait per step", input_.waits.wait_ns, Unit::kNs},
                     {"work for a batch", stage.batch_work_ns(), Unit::kNs},
                     {"a call takes", stage.work_ns, Unit::kNs},
                     {"input", wait_share(), Unit::kFraction},
                     {"busy cores", input_.busy_cores, Unit::kNone},
                     {"cores", static_cast<double>(cores()), Unit::kCount}};
  if (stage.longest != kNoSlice) finding.slices = {stage.longest};
  return finding;
}

}  // namespace stepscope
