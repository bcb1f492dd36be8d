// redundant-copy: a tensor is copied, and the copy is copied again and thrown away: .clone() after
// .contiguous(), to another type and back, to another layout and back.
//
// That the second copy is of the first shows in memory: what the first took is given back as soon
// as the second is made, and before anything is computed.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "advise/device_use.h"
#include "advise/finding_text.h"
#include "advise/model_calls.h"
#include "advise/rules.h"
#include "advise/user_operators.h"

namespace stepscope {
namespace redundant_copy {

constexpr int64_t kLeastBytes = 4096;

bool is_view(std::string_view name) {
  constexpr std::array<std::string_view, 14> kNames = {
      "aten::permute", "aten::transpose", "aten::view",    "aten::reshape",   "aten::t",
      "aten::detach",  "aten::squeeze",   "aten::select",  "aten::unsqueeze", "aten::expand",
      "aten::slice",   "aten::movedim",   "aten::flatten", "aten::numpy_T"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

struct Copy {
  UserOperator op;
  uint64_t address = 0;
  int64_t bytes = 0;
  bool is_permuted = false;  // of a permuted view
  bool is_in_chain = false;  // redundant for certain
};

class Copies {
 public:
  Copies(const Case& c, const UserOperators& operators)
      : c_(c), operators_(operators), calls_(ModelCalls::of(c)) {}

  std::vector<Copy> find() {
    const auto all = operators_.all();
    std::vector<Copy> copies;
    bool is_after_copy = false, is_permuted = false;
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].is_backward || all[i].part == Part::kInput || is_of_input(all[i])) continue;
      const std::string_view name = c_.trace.slice_name(all[i].slice);
      std::optional<Copy> copy;
      if (is_copying_operator(name)) copy = find_copy(all[i]);
      if (!copy) {
        if (is_view(name)) {
          is_permuted |= name == "aten::permute" || name == "aten::transpose";
        } else if (!is_copying_operator(name)) {
          is_after_copy = is_permuted = false;
        }
        continue;
      }
      copy->is_permuted = is_permuted;
      is_permuted = false;
      const int64_t until_ns =
          i + 1 < all.size() ? c_.trace.slices().start_ns[index(all[i + 1].slice)] : INT64_MAX;
      if (is_after_copy && is_copy_of(*copy, copies.back(), until_ns)) {
        copy->is_in_chain = true;
        // Of another size: the type was changed, and changed back.
        copies.back().is_in_chain |= copy->bytes != copies.back().bytes;
      }
      copies.push_back(*copy);
      is_after_copy = true;
    }
    return copies;
  }

 private:
  // What is done to a batch before the model gets it is input-copy's, where no device computes.
  bool is_of_input(const UserOperator& op) const {
    return DeviceUse::of(c_)->empty() &&
           calls_->is_before_model(op.step, c_.trace.slices().start_ns[index(op.slice)]);
  }

  // What the operator took and kept; nothing where it copied nothing.
  std::optional<Copy> find_copy(const UserOperator& op) const {
    const SliceColumns& slices = c_.trace.slices();
    const AllocationColumns& allocations = c_.trace.allocations();
    const int64_t end_ns = slices.end_ns(index(op.slice));
    Copy copy{.op = op};
    for (size_t i = first_allocation(slices.start_ns[index(op.slice)]);
         i < allocations.time_ns.size() && allocations.time_ns[i] <= end_ns; ++i) {
      if (allocations.track[i] != *c_.thread->track() || allocations.bytes[i] <= copy.bytes) {
        continue;
      }
      copy.bytes = allocations.bytes[i];
      copy.address = allocations.address[i];
    }
    if (copy.bytes < kLeastBytes) return std::nullopt;
    return copy;
  }

  bool is_copy_of(const Copy& copy, const Copy& before, int64_t until_ns) const {
    if (copy.op.step != before.op.step) return false;
    const int64_t larger = std::max(copy.bytes, before.bytes);
    const int64_t smaller = std::min(copy.bytes, before.bytes);
    if (larger % smaller != 0 || larger / smaller > 8) return false;
    const AllocationColumns& allocations = c_.trace.allocations();
    for (size_t i = first_allocation(c_.trace.slices().start_ns[index(copy.op.slice)]);
         i < allocations.time_ns.size() && allocations.time_ns[i] <= until_ns; ++i) {
      if (allocations.address[i] == before.address && allocations.bytes[i] < 0) return true;
    }
    return false;
  }

  size_t first_allocation(int64_t time_ns) const {
    const auto& times = c_.trace.allocations().time_ns;
    return static_cast<size_t>(std::lower_bound(times.begin(), times.end(), time_ns) -
                               times.begin());
  }

  const Case& c_;
  const UserOperators& operators_;
  std::shared_ptr<const ModelCalls> calls_;
};

}  // namespace redundant_copy

void check_redundant_copy(const Case& c, Findings& found) {
  using namespace redundant_copy;
  if (!c.has_steps() || c.trace.allocations().time_ns.empty()) return;
  const auto operators = UserOperators::of(c);
  std::vector<Copy> copies = Copies(c, *operators).find();
  const SliceColumns& slices = c.trace.slices();
  // A layout that is changed twice in a step, with copies of the copies: it goes there and back.
  std::map<std::pair<uint32_t, int64_t>, uint64_t> permuted;
  for (size_t i = 0; i + 1 < copies.size(); ++i) {
    if (copies[i].is_permuted && copies[i + 1].is_in_chain) {
      ++permuted[{copies[i].op.step, copies[i].bytes}];
    }
  }
  for (size_t i = 0; i + 1 < copies.size(); ++i) {
    if (!copies[i].is_permuted || !copies[i + 1].is_in_chain) continue;
    copies[i].is_in_chain |= permuted[{copies[i].op.step, copies[i].bytes}] >= 2;
  }

  OperatorSum sum(c);
  int64_t bytes = 0;
  for (const Copy& copy : copies) {
    if (!copy.is_in_chain) continue;
    sum.add(copy.op, slices.dur_ns[index(copy.op.slice)] +
                         operators->backward_ns(c.trace, copy.op.slice,
                                                UserOperators::end_of(c.trace, copy.op.slice)));
    bytes += copy.bytes;
  }
  const double share = c.share(sum.ns());
  if (share < kLeastAtStake) return;

  Finding finding;
  finding.id = "redundant-copy";
  finding.at_stake_fraction = share;
  finding.where = sum.where();
  finding.title = in_percent(share) + " of each step copies tensors that are copies already";
  finding.figures = {
      {"copies per step", static_cast<double>(sum.count()) / static_cast<double>(c.steps()),
       Unit::kCount},
      {"copied per step", static_cast<double>(bytes) / static_cast<double>(c.steps()),
       Unit::kBytes},
      {"per step", static_cast<double>(c.per_step(sum.ns())), Unit::kNs}};
  finding.slices = {sum.longest()};
  finding.fix = "Keep one type and one layout, and leave out clone() where the tensor is fresh.";
  finding.code = "x = x.permute(0, 2, 3, 1).contiguous()   # no .clone(), no .double().float()";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
