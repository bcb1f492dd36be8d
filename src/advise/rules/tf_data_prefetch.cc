// tfdata-no-prefetch: a pipeline makes a batch only when it is asked for one, while the program
// waits. tfdata-small-prefetch: it makes batches fast enough, but unevenly, and keeps too few in
// store.
#include <algorithm>

#include "advise/finding_text.h"
#include "advise/rules.h"
#include "advise/tf_data_model.h"

namespace stepscope {
namespace tf_data_prefetch {

constexpr int64_t kEnough = 8;       // batches in store
constexpr double kUneven = 0.5;      // of the waiting goes with a larger store
constexpr double kFastEnough = 0.8;  // of the time of a step that computes

Finding describe(const InputPipelines& input, std::string id, double new_step_ns,
                 const TfDataModel& model) {
  Finding finding;
  finding.id = std::move(id);
  finding.at_stake_fraction = model.saved(new_step_ns);
  finding.figures = {{"step", model.step_ns(), Unit::kNs},
                     {"wait per step", input.waits.wait_ns, Unit::kNs},
                     {"input", model.wait_share(), Unit::kFraction}};
  const InputPipeline& pipeline = model.pipeline();
  if (!pipeline.stages.empty()) finding.slices = {pipeline.stages.front().longest};
  return finding;
}

}  // namespace tf_data_prefetch

void check_tf_data_prefetch(const Case& c, Findings& found) {
  using namespace tf_data_prefetch;
  const auto input = InputPipelines::of(c.trace);
  if (!input->is_input_bound()) return;
  const TfDataModel model(*input);
  const InputPipeline& pipeline = model.pipeline();
  const InputStage* prefetch = input->asked()->find_prefetch();
  if (prefetch == nullptr) {
    const double new_step_ns = model.step_ns_with_prefetch();
    Finding finding = describe(*input, "tfdata-no-prefetch", new_step_ns, model);
    finding.title = in_percent(model.wait_share()) +
                    " of each step waits for tf.data, which begins with a batch only when it is "
                    "asked for";
    if (finding.at_stake_fraction >= kLeastAtStake) {
      finding.title +=
          ": with a prefetch the step falls " +
          times_less(static_cast<int64_t>(model.step_ns()), static_cast<int64_t>(new_step_ns));
    } else {
      finding.is_note = true;  // it will matter once the slow stage is mended
    }
    finding.fix = "End the pipeline with a prefetch.";
    finding.code = "ds = ds.prefetch(tf.data.AUTOTUNE)";
    found.push_back(std::move(finding));
    return;
  }
  const int64_t store = prefetch->find_number("buffer_limit").value_or(0);
  if (prefetch->is_autotuned() || store == 0 || store >= kEnough) return;
  double slowest_ns = 0;
  for (const InputSection& section : pipeline.sections) {
    slowest_ns = std::max(slowest_ns, section.batch_ns);
  }
  const double computing_ns = input->waits.step_ns - input->waits.wait_ns;
  if (slowest_ns > kFastEnough * computing_ns) return;
  const double new_step_ns = model.step_ns() - kUneven * input->waits.wait_ns;
  Finding finding = describe(*input, "tfdata-small-prefetch", new_step_ns, model);
  finding.title = in_percent(model.wait_share()) +
                  " of each step waits for tf.data, though a batch takes it only " +
                  in_time(static_cast<int64_t>(slowest_ns)) + ": its prefetch keeps " +
                  std::to_string(store) + (store == 1 ? " batch" : " batches") + " in store";
  finding.figures.push_back({"batches in store", static_cast<double>(store), Unit::kCount});
  finding.fix = "Let it keep more of them.";
  finding.code = "ds = ds.prefetch(tf.data.AUTOTUNE)";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
