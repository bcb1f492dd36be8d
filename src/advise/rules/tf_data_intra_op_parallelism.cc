// tfdata-intra-op-parallelism: the operators of a map's function each use several threads while the
// map itself runs on several: they take the cores from each other.
#include "advise/finding_text.h"
#include "advise/rules.h"
#include "advise/tf_data_model.h"

namespace stepscope {
namespace tf_data_intra_op_parallelism {

constexpr double kBusy = 0.8;     // of the cores
constexpr double kGained = 0.15;  // of the function's work: what dividing small operators costs

}  // namespace tf_data_intra_op_parallelism

void check_tf_data_intra_op_parallelism(const Case& c, Findings& found) {
  using namespace tf_data_intra_op_parallelism;
  const auto input = InputPipelines::of(c.trace);
  if (!input->is_input_bound()) return;
  const TfDataModel model(*input);
  const InputStage& root = model.pipeline().stages.front();
  const auto threads = root.find_number("intra_op_parallelism");
  if (!threads || *threads == 1 || model.cores() < 2) return;
  const InputStage* slowest = model.slowest();
  if (slowest == nullptr || slowest->function_runs == 0 || !slowest->is_async) return;
  if (input->busy_cores < kBusy * static_cast<double>(model.cores())) return;
  const uint32_t stage = model.pipeline().bottleneck;
  const double new_step_ns = model.step_ns_with(
      [&](InputPipeline& pipeline) { pipeline.stages[stage].work_ns *= 1 - kGained; });

  Finding finding = model.make_finding("tfdata-intra-op-parallelism", *slowest, new_step_ns);
  finding.title = "Operators in tf.data's functions divide their work among " +
                  (*threads > 0 ? std::to_string(*threads) : std::string("many")) +
                  " threads, while several functions run at once and the cores are busy";
  finding.fix = "Give each operator one thread there.";
  finding.code =
      "options = tf.data.Options()\n"
      "options.threading.max_intra_op_parallelism = 1  # experimental_threading before 2.7\n"
      "ds = ds.with_options(options)";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
