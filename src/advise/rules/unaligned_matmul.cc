// unaligned-matmul: products of matrices of 16-bit numbers whose sizes are no multiples of 8: they
// can not use Tensor Cores fully. torch's own pattern of this name looks at the same.
#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "advise/device_use.h"
#include "advise/device_what_if.h"
#include "advise/finding_text.h"
#include "advise/host_time.h"
#include "advise/rules.h"
#include "advise/step_replay.h"
#include "analyze/shapes.h"

namespace stepscope {
namespace unaligned_matmul {

constexpr int64_t kAlignment = 8;
constexpr float kLeft = 0.6;  // of a kernel, once it is aligned

bool is_matmul(std::string_view name) {
  constexpr std::array<std::string_view, 5> kNames = {"aten::mm", "aten::bmm", "aten::addmm",
                                                      "aten::addbmm", "aten::baddbmm"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool is_unaligned(std::string_view dims_json) {
  for (const std::vector<int64_t>& shape : parse_shapes(dims_json)) {
    if (shape.size() < 2) continue;  // a bias, or a scalar
    for (size_t i = shape.size() - 2; i < shape.size(); ++i) {
      if (shape[i] % kAlignment != 0) return true;
    }
  }
  return false;
}

struct LabelTime {
  int64_t ns = 0;
  int64_t unaligned_ns = 0;
  uint64_t unaligned = 0;
  SliceId longest = kNoSlice;
  int64_t longest_ns = -1;
};

class Products {
 public:
  explicit Products(const Case& c)
      : by_label(c.trace.labels().size()),
        c_(c),
        dims_(c.trace.find_args("Input Dims", ArgType::kJson)),
        types_(c.trace.find_args("Input type", ArgType::kJson)) {}

  // Kernels, by the label of the product that launched them.
  void find() {
    if (dims_ == nullptr || types_ == nullptr) return;
    const SliceColumns& slices = c_.trace.slices();
    for (const StepReplay::DeviceWork& work : StepReplay::of(c_.trace)->device_work()) {
      for (SliceId at = work.call; at != kNoSlice; at = slices.parent[index(at)]) {
        const LabelId label = slices.label[index(at)];
        if (!is_matmul(c_.trace.string(c_.trace.labels()[label].name))) continue;
        add(by_label[index(label)], at, work.dur_ns);
        break;
      }
    }
  }

  std::vector<LabelTime> by_label;

 private:
  void add(LabelTime& time, SliceId product, int64_t dur_ns) const {
    time.ns += dur_ns;
    const auto dims = dims_->find(product);
    const auto types = types_->find(product);
    if (!dims || !types) return;
    const std::string_view type = c_.trace.string(types_->string(*types));
    if (type.find("Half") == type.npos && type.find("BFloat16") == type.npos) return;
    if (!is_unaligned(c_.trace.string(dims_->string(*dims)))) return;
    time.unaligned_ns += dur_ns;
    ++time.unaligned;
    if (dur_ns <= time.longest_ns) return;
    time.longest_ns = dur_ns;
    time.longest = product;
  }

  const Case& c_;
  const ArgColumn* dims_;
  const ArgColumn* types_;
};

}  // namespace unaligned_matmul

void check_unaligned_matmul(const Case& c, Findings& found) {
  using namespace unaligned_matmul;
  if (!c.has_steps() || DeviceUse::of(c)->empty()) return;
  Products products(c);
  products.find();
  WhatIf aligned(c.trace);
  LabelTime sum;
  for (size_t i = 0; i < products.by_label.size(); ++i) {
    const LabelTime& time = products.by_label[i];
    if (time.unaligned_ns == 0) continue;
    aligned.launched[i] =
        1 - (1 - kLeft) * static_cast<float>(time.unaligned_ns) / static_cast<float>(time.ns);
    sum.unaligned += time.unaligned;
    sum.unaligned_ns += time.unaligned_ns;
    if (time.longest_ns <= sum.longest_ns) continue;
    sum.longest_ns = time.longest_ns;
    sum.longest = time.longest;
  }
  if (sum.unaligned_ns == 0) return;
  const double saved = StepReplay::of(c.trace)->saved(aligned);
  if (saved < kLeastAtStake) return;

  Finding finding;
  finding.id = "unaligned-matmul";
  finding.at_stake_fraction = saved;
  const LabelId function = find_user_function(c, sum.longest);
  if (function != LabelId{UINT32_MAX}) finding.where = c.place(function);
  finding.title =
      "matrices of 16-bit numbers have sizes that are no multiples of 8, which Tensor "
      "Cores need";
  const ArgColumn* dims = c.trace.find_args("Input Dims", ArgType::kJson);
  finding.figures = {
      {"products in all", static_cast<double>(sum.unaligned), Unit::kCount},
      {"their kernels per step", static_cast<double>(c.per_step(sum.unaligned_ns)), Unit::kNs}};
  finding.slices = {sum.longest};
  finding.fix =
      "Pad them: the vocabulary, the classes and the hidden sizes to multiples of 8 (the "
      "longest has the sizes " +
      canonical_shapes(c.trace.string(dims->string(*dims->find(sum.longest)))) + ").";
  finding.code = "vocabulary = (vocabulary + 7) // 8 * 8";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
