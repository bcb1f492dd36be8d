// grad-not-none: gradients are filled with zeros and then added to, instead of being written.
//
// On CPU dropping them is not always faster. Memory that is given back in each step comes from the
// system anew, page by page, and this can take longer than filling: with layers of 512 x 512 and of
// 1024 x 1024 numbers a step took 27 to 60 % longer. Small gradients stay in the allocator's hands;
// very large ones come from the system either way, because backward needs memory of their size to
// add from. Only these two count.
#include <algorithm>
#include <string_view>
#include <vector>

#include "advise/device_what_if.h"
#include "advise/finding_text.h"
#include "advise/rules.h"

namespace stepscope {
namespace grad_not_none {

enum class Piece : uint8_t { kOther, kZeroGrad, kAccumulate, kZero, kAdd };

constexpr int64_t kSmallBytes = 256 << 10;
constexpr int64_t kLargeBytes = 32 << 20;  // glibc's malloc maps these one by one

struct Gradients {
  uint64_t filled = 0;
  int64_t fill_ns = 0;
  uint64_t added = 0;
  int64_t add_ns = 0;          // to what is there
  int64_t worth_ns = 0;        // of this, for gradients that are worth dropping
  SliceId longest = kNoSlice;  // zero_grad
};

std::vector<Piece> find_pieces(const Case& c) {
  std::vector<Piece> pieces;
  for (uint32_t i = 0; i < c.trace.labels().size(); ++i) {
    const std::string_view name = c.trace.string(c.trace.labels()[LabelId{i}].name);
    pieces.push_back(c.thread->role(LabelId{i}) == TrainingRole::kZeroGrad     ? Piece::kZeroGrad
                     : name == "torch::autograd::AccumulateGrad"               ? Piece::kAccumulate
                     : name == "aten::zero_" || name == "aten::_foreach_zero_" ? Piece::kZero
                     : name == "aten::add_"                                    ? Piece::kAdd
                                                                               : Piece::kOther);
  }
  return pieces;
}

// Whether dropping a gradient that was added in this time saves what adding took. Its size is that
// of what backward gives back then. A device's allocator keeps its memory: there all are.
class Sizes {
 public:
  explicit Sizes(const Case& c) : allocations_(c.trace.allocations()) {
    for (const Label& label : c.trace.labels().all()) {
      has_device_ |= is_device_work(label.kind);
    }
  }

  bool is_worth_dropping(int64_t begin_ns, int64_t end_ns) const {
    if (has_device_) return true;
    int64_t bytes = 0;
    const auto& times = allocations_.time_ns;
    for (auto at = std::lower_bound(times.begin(), times.end(), begin_ns);
         at != times.end() && *at <= end_ns; ++at) {
      bytes = std::max(bytes, -allocations_.bytes[static_cast<size_t>(at - times.begin())]);
    }
    return bytes > 0 && (bytes <= kSmallBytes || bytes >= kLargeBytes);
  }

 private:
  const AllocationColumns& allocations_;
  bool has_device_ = false;
};

// Of the program's threads: autograd may have its own.
Gradients find_gradients(const Case& c) {
  const std::vector<Piece> pieces = find_pieces(c);
  const SliceColumns& slices = c.trace.slices();
  const Sizes sizes(c);
  Gradients gradients;
  for (const Track& track : c.trace.tracks()) {
    if (track.kind != TrackKind::kThread) continue;
    int64_t zero_until_ns = INT64_MIN, accumulate_until_ns = INT64_MIN, longest_ns = -1;
    bool is_worth = false;
    for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
      const Piece piece = pieces[index(slices.label[row])];
      const int64_t start_ns = slices.start_ns[row];
      if (piece == Piece::kOther || !c.times.contains(start_ns)) continue;
      if (piece == Piece::kZeroGrad) {
        zero_until_ns = slices.end_ns(row);
        if (slices.dur_ns[row] > longest_ns) gradients.longest = SliceId{row};
        longest_ns = std::max(longest_ns, slices.dur_ns[row]);
      } else if (piece == Piece::kAccumulate) {
        accumulate_until_ns = slices.end_ns(row);
        is_worth = sizes.is_worth_dropping(start_ns, accumulate_until_ns);
      } else if (piece == Piece::kZero && start_ns < zero_until_ns) {
        ++gradients.filled;
        gradients.fill_ns += slices.dur_ns[row];
      } else if (piece == Piece::kAdd && start_ns < accumulate_until_ns) {
        ++gradients.added;
        gradients.add_ns += slices.dur_ns[row];
        if (is_worth) gradients.worth_ns += slices.dur_ns[row];
      }
    }
  }
  return gradients;
}

}  // namespace grad_not_none

void check_grad_not_none(const Case& c, Findings& found) {
  using namespace grad_not_none;
  if (!c.has_steps() || !c.thread->has(TrainingRole::kZeroGrad)) return;
  const Gradients gradients = find_gradients(c);
  if (gradients.filled == 0) return;
  if (gradients.add_ns == 0) return;  // nobody adds to them
  const double worth =
      static_cast<double>(gradients.worth_ns) / static_cast<double>(gradients.add_ns);
  const double share = worth * c.share(gradients.fill_ns + gradients.add_ns);
  if (share < kLeastAtStake) return;

  Finding finding;
  finding.id = "grad-not-none";
  finding.at_stake_fraction = limit_to_saved(c, share, 0, [&](LabelId label) {
    return c.thread->role(label) == TrainingRole::kZeroGrad ||
           c.trace.string(c.trace.labels()[label].name) == "torch::autograd::AccumulateGrad";
  });
  finding.title = in_percent(share) + " of each step fills gradients with zeros and adds to them";
  finding.figures = {
      {"filling per step", static_cast<double>(c.per_step(gradients.fill_ns)), Unit::kNs},
      {"adding per step", static_cast<double>(c.per_step(gradients.add_ns)), Unit::kNs},
      {"fills per step", static_cast<double>(gradients.filled) / static_cast<double>(c.steps()),
       Unit::kCount}};
  finding.slices = {gradients.longest};
  finding.fix = "Let zero_grad drop the gradients; backward then writes them anew.";
  finding.code = "optimizer.zero_grad(set_to_none=True)";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
