// tfdata-slow-source: what reads the data (files, a generator) sets the pace of the pipeline.
#include "advise/finding_text.h"
#include "advise/rules.h"
#include "advise/tf_data_model.h"

namespace stepscope {
namespace tf_data_slow_source {

bool reads_in_parallel(const InputPipeline& pipeline, uint32_t stage) {
  for (uint32_t at = stage; at != kNoStage; at = pipeline.stages[at].parent) {
    const std::string_view kind = pipeline.stages[at].kind();
    if (kind == "ParallelInterleave" || kind == "LegacyParallelInterleave") return true;
  }
  return false;
}

}  // namespace tf_data_slow_source

void check_tf_data_slow_source(const Case& c, Findings& found) {
  using namespace tf_data_slow_source;
  const auto input = InputPipelines::of(c.trace);
  if (!input->is_input_bound()) return;
  const TfDataModel model(*input);
  const InputPipeline& pipeline = model.pipeline();
  const InputStage* slowest = model.slowest();
  if (slowest == nullptr || !is_source(pipeline, pipeline.bottleneck)) return;
  const bool is_parallel = reads_in_parallel(pipeline, pipeline.bottleneck);
  const double new_step_ns = is_parallel ? model.step_ns_with_cache(pipeline.bottleneck)
                                         : model.step_ns_with_parallel(pipeline.bottleneck);

  Finding finding = model.make_finding("tfdata-slow-source", *slowest, new_step_ns);
  const std::string reader = call_of_stage(*slowest);
  if (slowest->kind() == "Generator") {
    finding.fix =
        "A Python generator gives one element at a time, under the interpreter's lock: read and "
        "decode with TensorFlow's own operations, or interleave several generators.";
    finding.code =
        "ds = tf.data.Dataset.range(shards).interleave(\n"
        "    lambda i: tf.data.Dataset.from_generator(make, args=[i], output_signature=...),\n"
        "    num_parallel_calls=tf.data.AUTOTUNE, deterministic=False)";
  } else if (is_parallel) {
    finding.fix =
        "Files are read side by side already: read more of them at once, keep them nearer or "
        "uncompressed, or cache() what was read if it fits in memory.";
    finding.code = "ds = files.interleave(" + reader +
                   ", cycle_length=16, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False)";
  } else {
    finding.fix =
        "Read several files side by side; where there are too few, shard the data into files of "
        "100 MB and more.";
    finding.code = "ds = tf.data.Dataset.from_tensor_slices(files).interleave(\n    " + reader +
                   ", num_parallel_calls=tf.data.AUTOTUNE, deterministic=False)";
  }
  found.push_back(std::move(finding));
}

}  // namespace stepscope
