// dataloader-slow-collate: putting items together to a batch takes more than making them.
#include "advise/finding_text.h"
#include "advise/input_model.h"
#include "advise/rules.h"

namespace stepscope {
namespace dataloader_slow_collate {

constexpr double kMostOfFetch = 0.5;
// PyTorch's own is slow on what the dataset gives: numbers, lists, many small things.
constexpr double kMostOfFetchOfTorch = 0.8;
constexpr double kLeastWaitForTorch = 0.1;
constexpr double kLeft = 0.05;  // of it, once it is one torch.stack

}  // namespace dataloader_slow_collate

void check_dataloader_slow_collate(const Case& c, Findings& found) {
  using namespace dataloader_slow_collate;
  const InputWork& input = c.input;
  if (!c.has_steps() || input.fetch_ns == 0 || input.collate_ns == 0) return;
  const double of_fetch =
      static_cast<double>(input.collate_ns) / static_cast<double>(input.fetch_ns);
  const double least_wait = input.has_own_collate ? kWarningAtStake : kLeastWaitForTorch;
  const double least_share = input.has_own_collate ? kMostOfFetch : kMostOfFetchOfTorch;
  if (c.share(input.wait_ns) < least_wait || of_fetch < least_share) return;
  const InputModel model(c);
  const double share = of_fetch < 1 ? of_fetch : 1;
  const int64_t new_step_ns = model.step_ns_with_faster_fetch(share * (1 - kLeft));

  Finding finding;
  finding.id = "dataloader-slow-collate";
  finding.at_stake_fraction = model.saved(new_step_ns);
  finding.where = c.place(input.collate);
  finding.title = in_percent(c.share(input.wait_ns)) + " of each step waits for input, and " +
                  in_percent(share) + " of that is the putting together of batches";
  finding.figures = {
      {"step", static_cast<double>(model.step_ns()), Unit::kNs},
      {"collate per batch",
       static_cast<double>(input.collate_ns) / static_cast<double>(input.fetches), Unit::kNs},
      {"batch", static_cast<double>(input.mean_fetch_ns()), Unit::kNs}};
  finding.slices = input.longest_waits;
  finding.fix =
      "Let the dataset give tensors of one shape, so that a batch is one torch.stack of them; do "
      "not go through Python lists.";
  finding.code = "def collate(items):\n    return torch.stack([x for x, _ in items]), ...";
  // Most of what takes time in a fetch is this.
  finding.includes = {"dataset-slow-item", "dataloader-in-process"};
  found.push_back(std::move(finding));
}

}  // namespace stepscope
