#include "trace/sample_weights.h"

#include <algorithm>

namespace stepscope {

SampleWeights::SampleWeights(const SampleColumns& samples, SampleWeight asked) : samples_(samples) {
  if (asked == SampleWeight::kWall || samples.cpu_ns.empty()) return;
  is_cpu_ = std::any_of(samples.cpu_ns.begin(), samples.cpu_ns.end(),
                        [](int64_t cpu_ns) { return cpu_ns > 0; });
  fell_back_ = !is_cpu_;
}

std::optional<SampleWeight> parse_sample_weight(std::string_view text) {
  if (text.empty() || text == "cpu") return SampleWeight::kCpuWhereKnown;
  if (text == "wall") return SampleWeight::kWall;
  return std::nullopt;
}

bool functions_are_sampled(const Trace& trace) {
  if (trace.samples().size() == 0) return false;
  const std::vector<Label>& labels = trace.labels().all();
  const std::vector<LabelId>& slices = trace.slices().label;
  return std::none_of(slices.begin(), slices.end(), [&](LabelId label) {
    const SliceKind kind = labels[index(label)].kind;
    return kind == SliceKind::kPython || kind == SliceKind::kCall;
  });
}

}  // namespace stepscope
