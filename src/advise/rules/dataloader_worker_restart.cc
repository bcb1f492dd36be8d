// dataloader-worker-restart: each epoch starts its worker processes anew.
#include <algorithm>
#include <string_view>
#include <vector>

#include "advise/finding_text.h"
#include "advise/host_time.h"
#include "advise/rules.h"
#include "analyze/quantile.h"

namespace stepscope {
namespace dataloader_worker_restart {

constexpr std::string_view kStart = "_MultiProcessingDataLoaderIter.__init__";
constexpr std::string_view kStop = "_MultiProcessingDataLoaderIter._shutdown_workers";

// What the first batch after a start took longer to come than others.
int64_t find_first_waits(const Case& c, const std::vector<int64_t>& starts_ns) {
  const SliceColumns& slices = c.trace.slices();
  const Track& track = c.trace.tracks()[index(*c.thread->track())];
  std::vector<int64_t> first, others;
  size_t next = 0;
  for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
    if (c.thread->role(slices.label[row]) != TrainingRole::kInput) continue;
    const bool is_first = next < starts_ns.size() && slices.start_ns[row] >= starts_ns[next];
    while (next < starts_ns.size() && slices.start_ns[row] >= starts_ns[next]) ++next;
    (is_first ? first : others).push_back(slices.dur_ns[row]);
  }
  if (others.empty()) return 0;
  const int64_t usual_ns = quantile(others, 0.5);
  int64_t sum_ns = 0;
  for (size_t i = 1; i < first.size(); ++i) sum_ns += std::max<int64_t>(0, first[i] - usual_ns);
  return sum_ns;
}

}  // namespace dataloader_worker_restart

void check_dataloader_worker_restart(const Case& c, Findings& found) {
  using namespace dataloader_worker_restart;
  if (!c.has_steps() || !c.work) return;
  const SliceColumns& slices = c.trace.slices();
  const Track& track = c.trace.tracks()[index(*c.thread->track())];
  const Interval window{c.steady.steps.front().span.begin_ns, c.steady.steps.back().span.end_ns};
  std::vector<bool> is_start, is_stop;
  for (const Label& label : c.trace.labels().all()) {
    const std::string_view name = c.trace.string(label.name);
    is_start.push_back(name.ends_with(kStart));
    is_stop.push_back(name.ends_with(kStop));
  }
  std::vector<int64_t> starts_ns;
  int64_t ns = 0;
  SliceId longest = kNoSlice;
  bool has_batch = false;  // since the last start
  for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
    const auto label = index(slices.label[row]);
    has_batch |= c.thread->role(slices.label[row]) == TrainingRole::kInput;
    if (!is_start[label] && !is_stop[label]) continue;
    // Samples may show one start in pieces, but there is a batch between two.
    if (is_start[label] && (!c.is_sampled() || starts_ns.empty() || has_batch)) {
      starts_ns.push_back(slices.start_ns[row]);
      has_batch = false;
    }
    // The first start is no restart.
    if (slices.start_ns[row] < window.begin_ns || slices.start_ns[row] >= window.end_ns) continue;
    ns += slices.dur_ns[row];
    if (longest == kNoSlice || slices.dur_ns[row] > slices.dur_ns[index(longest)]) {
      longest = SliceId{row};
    }
  }
  if (starts_ns.size() < 2 || longest == kNoSlice) return;
  ns += find_first_waits(c, starts_ns);
  const int64_t window_ns = std::max<int64_t>(1, window.end_ns - window.begin_ns);
  const double share = std::min(1.0, static_cast<double>(ns) / static_cast<double>(window_ns));
  if (share < kWarningAtStake) return;

  Finding finding;
  finding.id = "dataloader-worker-restart";
  finding.at_stake_fraction = share;
  finding.title = in_percent(share) + " of the training starts DataLoader workers";
  finding.title += c.is_sampled()
                       ? ", anew for each epoch"
                       : ": " + std::to_string(starts_ns.size()) + " times, once for each epoch";
  if (const LabelId function = find_user_function(c, longest); function != LabelId{UINT32_MAX}) {
    finding.where = c.place(function);
  }
  if (c.is_sampled()) {
    finding.figures = {{"starting workers", static_cast<double>(ns), Unit::kNs}};
  } else {
    const auto starts = static_cast<double>(starts_ns.size());
    finding.figures = {{"a restart", static_cast<double>(ns) / (starts - 1), Unit::kNs},
                       {"starts", starts, Unit::kCount}};
  }
  finding.slices = {longest};
  finding.fix = "Keep the workers from one epoch to the next.";
  finding.code = "DataLoader(dataset, ..., num_workers=2, persistent_workers=True)";
  finding.includes = {"dataloader-too-few-workers", "dataset-slow-item"};
  found.push_back(std::move(finding));
}

}  // namespace stepscope
