// profiler-overhead: recording itself took much of the recorded time. Nothing to mend in the
// program; said so that times are not taken for more than they are.
#include "advise/finding_text.h"
#include "advise/rules.h"

namespace stepscope {
namespace profiler_overhead {

constexpr double kMuch = 0.2;

// What other tools say that their recording took on the training thread.
int64_t find_told_ns(const Case& c) {
  int64_t ns = 0;
  for (uint32_t i = 0; c.work && i < c.trace.labels().size(); ++i) {
    if (c.trace.labels()[LabelId{i}].kind == SliceKind::kOverhead) {
      ns += c.work->of(LabelId{i}).total_ns;
    }
  }
  return ns;
}

}  // namespace profiler_overhead

void check_profiler_overhead(const Case& c, Findings& found) {
  using namespace profiler_overhead;
  const int64_t recording_ns = c.recording_ns + find_told_ns(c);
  const double share = c.recorded_ns <= 0
                           ? 0
                           : static_cast<double>(recording_ns) / static_cast<double>(c.recorded_ns);
  if (share < kMuch) return;

  Finding finding;
  finding.id = "profiler-overhead";
  finding.is_note = true;
  finding.title = "about " + in_percent(share) + " of the recorded time is the recording itself";
  finding.title += c.has_steps()
                       ? ": a step takes about " +
                             in_time(c.per_step(c.recorded_ns - recording_ns)) + " without it"
                       : "";
  finding.figures = {{"recorded", static_cast<double>(c.per_step(c.recorded_ns)), Unit::kNs},
                     {"recording", static_cast<double>(c.per_step(recording_ns)), Unit::kNs},
                     {"share", share, Unit::kFraction}};
  const bool is_ours = c.trace.format() == kRecordingFormat;
  finding.fix = is_ours ? "Findings have taken it off. To record less, leave out short calls."
                        : "Record fewer things (no stacks, no shapes), or fewer steps.";
  if (is_ours) finding.code = "stepscope run --min-duration 10us script.py";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
