// tfdata-slow-transformation: a transformation that works on one thread (batch, filter, unbatch,
// shuffle, …) sets the pace of the pipeline.
#include "advise/finding_text.h"
#include "advise/rules.h"
#include "advise/tf_data_model.h"

namespace stepscope {
namespace tf_data_slow_transformation {

bool is_batch(const InputStage& stage) {
  const std::string_view kind = stage.kind();
  return kind == "Batch" || kind == "PaddedBatch";
}

bool is_map(const InputStage& stage) {
  const std::string_view kind = stage.kind();
  return kind == "Map" || kind == "ParallelMap" || kind == "MapAndBatch";
}

}  // namespace tf_data_slow_transformation

void check_tf_data_slow_transformation(const Case& c, Findings& found) {
  using namespace tf_data_slow_transformation;
  const auto input = InputPipelines::of(c.trace);
  if (!input->is_input_bound()) return;
  const TfDataModel model(*input);
  const uint32_t stage = model.pipeline().bottleneck;
  const InputStage* slowest = model.slowest();
  if (slowest == nullptr || is_source(model.pipeline(), stage) || is_map(*slowest)) return;

  Finding finding = model.make_finding("tfdata-slow-transformation", *slowest,
                                       model.step_ns_with_parallel(stage));
  if (is_batch(*slowest)) {
    finding.fix = "Let several threads put batches together.";
    finding.code = "ds = ds.batch(n, num_parallel_calls=tf.data.AUTOTUNE)";
  } else {
    finding.fix = "It works on one thread: run it on shards of the data side by side.";
    finding.code =
        "def make(i):\n"
        "    return source().shard(n, i).map(f)" +
        call_of_stage(*slowest) +
        "\n"
        "ds = tf.data.Dataset.range(n).interleave(make, num_parallel_calls=tf.data.AUTOTUNE)";
  }
  found.push_back(std::move(finding));
}

}  // namespace stepscope
