// dataset-slow-item: making one item does many small things in Python (a loop over pixels, rows,
// characters) where few large ones would do. Or, where there are as many workers as cores and the
// training still waits, whatever takes most of an item: that alone can be told from samples, which
// do not count.
#include <algorithm>

#include "advise/finding_text.h"
#include "advise/input_model.h"
#include "advise/rules.h"

namespace stepscope {
namespace dataset_slow_item {

constexpr uint64_t kMany = 16;       // calls of one thing in one item: a loop
constexpr double kMostOfItem = 0.5;  // of the time of a fetch
// What is left of a loop that was made one operation.
constexpr double kLeft = 0.05;

struct HotPart {
  int64_t ns = 0;
  const FunctionWork* hottest = nullptr;

  void add(const FunctionWork& function) {
    ns += function.own_ns;
    if (hottest == nullptr || function.own_ns > hottest->own_ns) hottest = &function;
  }
};

// How many items were made: calls of __getitem__, or of whatever function is called least.
uint64_t count_items(const Case& c) {
  uint64_t items = c.input.fetches;
  for (const FunctionWork& function : c.input.functions) {
    if (c.place(function.label).ends_with("__getitem__")) items = std::max(items, function.calls);
  }
  return std::max<uint64_t>(items, 1);
}

bool is_loop(const FunctionWork& function, uint64_t items) {
  return std::max(function.repeats, function.calls) / items >= kMany;
}

}  // namespace dataset_slow_item

void check_dataset_slow_item(const Case& c, Findings& found) {
  using namespace dataset_slow_item;
  const InputWork& input = c.input;
  if (!c.has_steps() || input.fetches == 0 || input.functions.empty()) return;
  if (c.share(input.wait_ns) < kWarningAtStake) return;
  const InputModel model(c);
  const uint64_t items = count_items(c);
  HotPart loops, all;
  for (const FunctionWork& function : input.functions) {
    if (input.has_own_collate && function.label == input.collate) continue;
    all.add(function);
    if (is_loop(function, items)) loops.add(function);
  }
  const auto of_fetch = [&](int64_t ns) {
    return std::min(1.0, static_cast<double>(ns) / static_cast<double>(input.fetch_ns));
  };
  const bool is_loop_hot = !c.is_sampled() && of_fetch(loops.ns) >= kMostOfItem;
  const bool has_all_workers = !input.is_in_process && input.workers >= model.cores();
  if (!is_loop_hot && !has_all_workers) return;
  const HotPart& hot = is_loop_hot ? loops : all;
  if (hot.hottest == nullptr || of_fetch(hot.ns) < kMostOfItem) return;
  const double hot_share = of_fetch(hot.ns);
  const int64_t new_step_ns =
      model.step_ns_with_faster_fetch(is_loop_hot ? hot_share * (1 - kLeft) : hot_share / 2);

  Finding finding;
  finding.id = "dataset-slow-item";
  finding.at_stake_fraction = model.saved(new_step_ns);
  finding.where = c.place(hot.hottest->label);
  finding.title = in_percent(c.share(input.wait_ns)) + " of each step waits for input, " +
                  in_percent(hot_share) + " of which is spent in " + finding.where;
  finding.figures = {{"step", static_cast<double>(model.step_ns()), Unit::kNs},
                     {"input per step", static_cast<double>(c.per_step(input.wait_ns)), Unit::kNs},
                     {"of an item", hot_share, Unit::kFraction}};
  if (!c.is_sampled()) {
    const auto repeats = std::max(hot.hottest->repeats, hot.hottest->calls);
    finding.figures.push_back({"an item takes",
                               static_cast<double>(input.fetch_ns) / static_cast<double>(items),
                               Unit::kNs});
    finding.figures.push_back({"repeats per item",
                               static_cast<double>(repeats) / static_cast<double>(items),
                               Unit::kCount});
  }
  finding.slices = {hot.hottest->longest};
  finding.fix =
      is_loop_hot
          ? "It works piece by piece in Python: let one operation on the whole array or tensor do "
            "it, or do it once when the data is prepared."
          : "All cores make batches already: make an item cheaper, prepare it once and keep it, or "
            "do part of it on whole batches.";
  if (input.is_in_process) finding.includes.emplace_back("dataloader-in-process");
  found.push_back(std::move(finding));
}

}  // namespace stepscope
