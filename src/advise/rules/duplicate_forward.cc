// duplicate-forward: the same model is called more often in a step than backward needs it.
#include <map>
#include <vector>

#include "advise/finding_text.h"
#include "advise/rules.h"

namespace stepscope {
namespace {

struct ModelCalls {
  uint64_t calls = 0;
  int64_t total_ns = 0;
  SliceId first = kNoSlice;
};

// Outermost modules in the steady steps, outside of the input.
std::map<uint32_t, ModelCalls> find_model_calls(const Case& c, const Track& track) {
  const SliceColumns& slices = c.trace.slices();
  std::map<uint32_t, ModelCalls> models;
  int64_t covered_until_ns = INT64_MIN;
  for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
    const TrainingRole role = c.thread->role(slices.label[row]);
    if (role != TrainingRole::kForward && role != TrainingRole::kInput) continue;
    if (slices.start_ns[row] < covered_until_ns || !c.times.contains(slices.start_ns[row]))
      continue;
    covered_until_ns = slices.end_ns(row);
    if (role == TrainingRole::kInput) continue;
    ModelCalls& model = models[index(slices.label[row])];
    if (model.calls++ == 0) model.first = SliceId{row};
    model.total_ns += slices.dur_ns[row];
  }
  return models;
}

uint64_t count_backward_calls(const Case& c) {
  uint64_t calls = 0;
  for (uint32_t i = 0; i < c.trace.labels().size(); ++i) {
    if (c.thread->role(LabelId{i}) == TrainingRole::kBackwardCall &&
        c.trace.labels()[LabelId{i}].kind == SliceKind::kAnnotation) {
      calls += c.work->of(LabelId{i}).calls;
    }
  }
  return calls;
}

}  // namespace

void check_duplicate_forward(const Case& c, Findings& found) {
  if (!c.has_steps() || !c.work || !c.thread->track()) return;
  const uint64_t backward_calls = count_backward_calls(c);
  if (backward_calls < c.steps()) return;
  const Track& track = c.trace.tracks()[index(*c.thread->track())];
  const auto models = find_model_calls(c, track);
  // The one that takes most: losses and metrics are modules too.
  const auto main = std::max_element(
      models.begin(), models.end(),
      [](const auto& a, const auto& b) { return a.second.total_ns < b.second.total_ns; });
  if (main == models.end()) return;
  const double per_backward =
      static_cast<double>(main->second.calls) / static_cast<double>(backward_calls);
  if (per_backward < 1.9 || per_backward > 2.1) return;  // more often it is meant so
  const double share = c.share(main->second.total_ns) / 2;
  if (share < kWarningAtStake) return;

  Finding finding;
  finding.id = "duplicate-forward";
  finding.at_stake_fraction = share;
  finding.title = "the model is called twice for each backward pass; the second call is " +
                  in_percent(share) + " of each step";
  finding.figures = {
      {"calls per backward pass", per_backward, Unit::kNone},
      {"a call",
       static_cast<double>(main->second.total_ns) / static_cast<double>(main->second.calls),
       Unit::kNs}};
  finding.slices = {main->second.first};
  finding.fix = "Keep the output of the first call, and use it for the metrics too.";
  finding.code =
      "output = model(x)\nloss = criterion(output, y)\naccuracy = (output.detach().argmax(1) == "
      "y).float().mean()";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
