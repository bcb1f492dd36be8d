#include "advise/input_answers.h"

#include <algorithm>
#include <cstdio>

#include "advise/finding_text.h"
#include "advise/tf_data_model.h"
#include "analyze/input_pipelines.h"
#include "analyze/text_value.h"

namespace stepscope {
namespace {

std::string time_of(double ns) { return in_time(static_cast<int64_t>(ns)); }

std::string is_data_ready(const InputPipelines& input) {
  const InputRequests& requests = input.asked()->requests;
  std::string line = "1. Is data ready when it is asked for? ";
  line += input.is_input_bound() ? "No: " : "Yes: ";
  line += "a request takes " + time_of(requests.typical_ns) + " (median " +
          in_time(requests.median_ns) + ", longest " + in_time(requests.max_ns) + ", " +
          text_of_count(static_cast<int64_t>(requests.count)) + " of them)";
  if (input.waits.steps > 0) {
    line += ", and of a step of " + time_of(input.waits.step_ns) + " " +
            in_percent(input.waits.share()) + " is waiting";
  }
  return line + ".";
}

std::string is_there_a_prefetch(const InputPipelines& input) {
  const std::string line = "2. Is there a prefetch at the end? ";
  const InputPipeline& working = *input.working();
  const InputStage* prefetch = working.find_prefetch();
  if (prefetch == nullptr) {
    return line + (input.asked()->is_device
                       ? "Only the device's: the host's pipeline has none. Add one."
                       : "No: a batch is begun when it is asked for. Add one.");
  }
  const auto store = prefetch->find_number("buffer_limit");
  std::string answer = "Yes";
  if (store) {
    answer += ", with room for " + std::to_string(*store) + (*store == 1 ? " batch" : " batches");
  }
  if (prefetch->is_autotuned()) answer += " (tf.data chooses)";
  if (prefetch->is_injected) {
    answer += "; the program itself has none, tf.data put it in";
  }
  return line + answer + ".";
}

std::string is_the_cpu_busy(const InputPipelines& input) {
  char busy[32];
  std::snprintf(busy, sizeof busy, "%.1f", input.busy_cores);
  std::string line = "3. Is the host's CPU busy? ";
  if (input.cores == 0) return line + std::string(busy) + " threads are at work on average.";
  const double share = input.busy_cores / static_cast<double>(input.cores);
  line += share >= 0.8 ? "Yes" : share >= 0.4 ? "In part" : "No";
  return line + ": " + busy + " threads are at work on average, and tf.data has " +
         std::to_string(input.cores) + (input.cores == 1 ? " core." : " cores.");
}

std::string what_is_slow(const InputPipelines& input) {
  const TfDataModel model(input);
  const InputStage* slowest = model.slowest();
  std::string line = "4. What is slow? ";
  if (slowest == nullptr) return line + "No stage did any work that was recorded.";
  const InputPipeline& pipeline = model.pipeline();
  const InputSection& section = pipeline.sections[slowest->section];
  line += input.is_input_bound() ? "" : "Nothing that is waited for; most work has ";
  line += slowest->name + " (" +
          (slowest->dataset.empty() ? call_of_stage(*slowest) : slowest->dataset) +
          "): " + time_of(slowest->batch_work_ns()) + " of work for a batch";
  if (section.threads > 1) {
    char threads[32];
    std::snprintf(threads, sizeof threads, "%.0f", section.threads);
    line += " on " + std::string(threads) + " threads";
  }
  // The next one, in the section that sets the pace or elsewhere.
  const InputStage* next = nullptr;
  for (const InputStage& stage : pipeline.stages) {
    if (&stage == slowest || stage.batch_work_ns() <= 0) continue;
    if (next == nullptr || stage.batch_work_ns() > next->batch_work_ns()) next = &stage;
  }
  if (next != nullptr) {
    line += "; then " + next->name + " with " + time_of(next->batch_work_ns());
  }
  return line + ".";
}

}  // namespace

std::vector<std::string> answer_input_questions(const Trace& trace) {
  const auto input = InputPipelines::of(trace);
  if (input->pipelines.empty()) return {};
  return {is_data_ready(*input), is_there_a_prefetch(*input), is_the_cpu_busy(*input),
          what_is_slow(*input)};
}

}  // namespace stepscope
