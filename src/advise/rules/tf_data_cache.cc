// tfdata-cache: a pipeline repeats its data set and makes it anew each time, though that sets the
// pace. A note: whether the data set fits in memory, and whether its elements are meant to differ
// from epoch to epoch, only the user knows.
#include "advise/finding_text.h"
#include "advise/rules.h"
#include "advise/tf_data_model.h"
#include "analyze/text_value.h"

namespace stepscope {
namespace tf_data_cache {

bool is_repeated(const InputPipeline& pipeline, uint32_t stage) {
  for (uint32_t at = stage; at != kNoStage; at = pipeline.stages[at].parent) {
    if (pipeline.stages[at].name.find("Repeat") != std::string::npos) return true;
  }
  return false;
}

}  // namespace tf_data_cache

void check_tf_data_cache(const Case& c, Findings& found) {
  using namespace tf_data_cache;
  const auto input = InputPipelines::of(c.trace);
  if (!input->is_input_bound()) return;
  const TfDataModel model(*input);
  const InputPipeline& pipeline = model.pipeline();
  const uint32_t stage = pipeline.bottleneck;
  const InputStage* slowest = model.slowest();
  if (slowest == nullptr || !is_repeated(pipeline, stage) || is_below_cache(pipeline, stage)) {
    return;
  }
  if (slowest->function_runs == 0 && !is_source(pipeline, stage)) return;  // a batch or a shuffle
  const double new_step_ns = model.step_ns_with_cache(stage);
  if (model.saved(new_step_ns) < kWarningAtStake) return;

  Finding finding = model.make_finding("tfdata-cache", *slowest, new_step_ns);
  finding.at_stake_fraction = 0;
  finding.is_note = true;
  finding.title =
      "Each epoch makes the whole data set anew: with what " + call_of_stage(*slowest) +
      " gives kept in memory, the step would fall " +
      times_less(static_cast<int64_t>(model.step_ns()), static_cast<int64_t>(new_step_ns));
  finding.fix =
      "Keep it if it fits in memory and its elements are the same in each epoch; put random "
      "augmentation after the cache.";
  if (input->element_bytes > 0) {
    finding.fix += " A batch as the program gets it has " +
                   text_of_bytes(static_cast<int64_t>(input->element_bytes)) + ".";
  }
  finding.code = "ds = ds" + (is_source(pipeline, stage) ? std::string() : ".map(f)") +
                 ".cache()  # before shuffle, repeat and batch";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
