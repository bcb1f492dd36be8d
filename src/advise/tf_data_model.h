// TfDataModel: what a step would take if its tf.data pipeline were another. A step takes as long as
// the slowest of these: computing with what the caller's thread does for the input; the slowest
// section of the pipeline, which works ahead; and all work together on all cores. Where nothing
// works ahead, the caller's thread does it all.
//
//   const TfDataModel model(*InputPipelines::of(trace));
//   const double step_ns = model.step_ns_with([&](InputPipeline& p) { p.stages[3].work_ns = 0; });
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "advise/finding.h"
#include "analyze/input_pipelines.h"

namespace stepscope {

class TfDataModel {
 public:
  explicit TfDataModel(const InputPipelines& input);  // which must outlive it

  // Of the pipeline that works, as it is.
  const InputPipeline& pipeline() const { return pipeline_; }
  const InputStage* slowest() const;
  int64_t cores() const;
  double step_ns() const { return input_.waits.step_ns; }
  double wait_share() const { return input_.waits.share(); }

  using Change = std::function<void(InputPipeline&)>;
  double step_ns_with(const Change& change, bool adds_prefetch = false) const;
  double step_ns_with_prefetch() const;
  // The stage's work on as many threads as there are cores, ahead of who asks for it.
  double step_ns_with_parallel(uint32_t stage) const;
  // As if what the stage gives were kept: neither it nor what is below it has to work again.
  double step_ns_with_cache(uint32_t stage) const;
  // The share of a step that is saved.
  double saved(double new_step_ns) const;

  // Title, figures and slices that all findings about a stage have.
  Finding make_finding(std::string id, const InputStage& stage, double new_step_ns) const;

 private:
  double predict(const InputPipeline& pipeline, bool adds_prefetch) const;
  double work_ns(const InputPipeline& pipeline) const;

  const InputPipelines& input_;
  const InputPipeline& pipeline_;
  double requests_per_step_ = 1;
};

// A stage as the user wrote it: ".map()" for ParallelMapV2, "TFRecordDataset" for TFRecord.
std::string call_of_stage(const InputStage& stage);
// What it is: "the function of .map()", "the source TFRecordDataset", ".batch()".
std::string describe_stage(const InputStage& stage, bool is_source);
bool is_source(const InputPipeline& pipeline, uint32_t stage);
// What the stage gives is kept: only the first epoch has to wait for it.
bool is_below_cache(const InputPipeline& pipeline, uint32_t stage);

}  // namespace stepscope
