// tfdata-slow-map: the function of a map sets the pace of the pipeline, and one thread alone
// runs it. tfdata-slow-parallel-map: it does so on all cores already, or on as many as it was
// given.
#include "advise/finding_text.h"
#include "advise/rules.h"
#include "advise/tf_data_model.h"
#include "analyze/text_value.h"

namespace stepscope {
namespace tf_data_slow_map {

constexpr std::string_view kMap = "Map";

bool runs_functions(const InputStage& stage) {
  const std::string_view kind = stage.kind();
  return kind == kMap || kind == "ParallelMap" || kind == "MapAndBatch";
}

std::string cache_advice(const InputPipelines& input) {
  std::string text =
      "cache() its result if the data set fits in memory and the function gives the same each time";
  if (input.element_bytes > 0) {
    text += " (a batch has " + text_of_bytes(static_cast<int64_t>(input.element_bytes)) + ")";
  }
  return text + ", ";
}

}  // namespace tf_data_slow_map

void check_tf_data_slow_map(const Case& c, Findings& found) {
  using namespace tf_data_slow_map;
  const auto input = InputPipelines::of(c.trace);
  if (!input->is_input_bound()) return;
  const TfDataModel model(*input);
  const uint32_t stage = model.pipeline().bottleneck;
  const InputStage* slowest = model.slowest();
  if (slowest == nullptr || is_source(model.pipeline(), stage) || !runs_functions(*slowest)) return;

  if (slowest->kind() == kMap) {
    Finding finding =
        model.make_finding("tfdata-slow-map", *slowest, model.step_ns_with_parallel(stage));
    finding.fix = "Let several threads run it.";
    finding.code = "ds = ds.map(f, num_parallel_calls=tf.data.AUTOTUNE)";
    found.push_back(std::move(finding));
    return;
  }
  const int64_t threads = slowest->find_number("parallelism").value_or(0);
  const bool has_more_cores = !slowest->is_autotuned() && threads > 0 && threads < model.cores();
  const double new_step_ns =
      has_more_cores ? model.step_ns_with_parallel(stage) : model.step_ns_with_cache(stage);
  Finding finding = model.make_finding("tfdata-slow-parallel-map", *slowest, new_step_ns);
  const double used = model.pipeline().sections[slowest->section].threads;
  finding.title += used > 1 ? ", on " + std::to_string(static_cast<int64_t>(used)) + " threads"
                            : ", on one thread";
  if (has_more_cores) {
    finding.fix = "There are " + std::to_string(model.cores()) + " cores: let tf.data use them.";
    finding.code = "ds = ds.map(f, num_parallel_calls=tf.data.AUTOTUNE)";
  } else if (is_below_cache(model.pipeline(), stage)) {
    finding.at_stake_fraction = 0;
    finding.is_note = true;
    finding.fix = "Its result is kept by cache(): later epochs do not wait for it.";
  } else {
    finding.fix = "It has the cores that there are: " + cache_advice(*input) +
                  "batch before the map and let the function work on whole batches, do it once "
                  "when the data is prepared, or let tf.data service workers do it.";
    finding.code = "ds = ds.map(f, num_parallel_calls=tf.data.AUTOTUNE).cache()";
  }
  found.push_back(std::move(finding));
}

}  // namespace stepscope
