// Which stages of an input pipeline one thread runs through, and which of these sections sets the
// pace.
#include <algorithm>
#include <string_view>

#include "analyze/input_pipelines.h"

namespace stepscope {
namespace {

// Threads that run a stage's function.
double threads_of(const InputStage& stage, int64_t cores) {
  int64_t threads = stage.find_number("parallelism").value_or(0);
  if (threads <= 0) threads = cores;
  if (cores > 0) threads = std::min(threads, cores);
  return static_cast<double>(std::max<int64_t>(threads, 1));
}

void find_bottleneck(InputPipeline& pipeline) {
  pipeline.bottleneck = kNoStage;
  const auto slowest = std::max_element(
      pipeline.sections.begin(), pipeline.sections.end(),
      [](const InputSection& a, const InputSection& b) { return a.batch_ns < b.batch_ns; });
  const auto section = static_cast<uint32_t>(slowest - pipeline.sections.begin());
  for (uint32_t i = 0; i < pipeline.stages.size(); ++i) {
    const InputStage& stage = pipeline.stages[i];
    if (stage.section != section || stage.batch_work_ns() <= 0) continue;
    const uint32_t best = pipeline.bottleneck;
    if (best == kNoStage || stage.batch_work_ns() > pipeline.stages[best].batch_work_ns()) {
      pipeline.bottleneck = i;
    }
  }
}

}  // namespace

void InputPipeline::find_sections(int64_t cores) {
  constexpr double kManyThreads = 64;  // sources wait more than they compute
  sections.assign(1, {});
  std::vector<uint32_t> section_below(stages.size(), 0);
  for (uint32_t i = 0; i < stages.size(); ++i) {
    InputStage& stage = stages[i];
    stage.section = stage.parent == kNoStage ? 0 : section_below[stage.parent];
    section_below[i] = stage.section;
    if (!stage.is_async) {
      sections[stage.section].batch_ns += stage.batch_work_ns() / sections[stage.section].threads;
      continue;
    }
    const std::string_view kind = stage.kind();
    InputSection below{0, 1, i, false};
    if (kind == "ParallelInterleave" || kind == "LegacyParallelInterleave") {
      const auto cycle = stage.find_number("cycle_length").value_or(1);
      const auto threads = stage.find_number("parallelism").value_or(cycle);
      below.threads = std::clamp(static_cast<double>(threads), 1.0, kManyThreads);
    }
    section_below[i] = static_cast<uint32_t>(sections.size());
    sections.push_back(below);
    if (stage.work_ns <= 0) continue;
    const double threads = threads_of(stage, cores);
    stage.section = static_cast<uint32_t>(sections.size());
    sections.push_back({stage.batch_work_ns() / threads, threads, i, true});
  }
  find_bottleneck(*this);
}

}  // namespace stepscope
