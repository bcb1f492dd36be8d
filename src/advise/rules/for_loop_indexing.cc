// for-loop-indexing: a loop goes through a tensor element by element, or row by row, where one
// operation on the whole would do. Told from the many indexing operators in one call of a function
// within one step.
#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

#include "advise/finding_text.h"
#include "advise/rules.h"
#include "advise/user_operators.h"

namespace stepscope {
namespace for_loop_indexing {

constexpr uint64_t kMany = 16;       // in one call
constexpr double kMostLeft = 0.1;    // what the one operation takes
constexpr uint32_t kIterations = 8;  // what is larger than so many is no part of the loop
constexpr int64_t kLongestPeriodNs = 20'000'000;
constexpr double kComputing = 0.2;  // a matrix product per so many indexing operators: real work

bool is_indexing(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames = {"aten::select", "aten::slice",
                                                      "aten::index",  "aten::index_put_",
                                                      "aten::narrow", "aten::unbind"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// A recurrent network's loop over time indexes too, and can not be one operation.
bool is_computing(std::string_view name) {
  constexpr std::array<std::string_view, 12> kNames = {
      "aten::linear", "aten::addmm",     "aten::mm",       "aten::matmul",
      "aten::bmm",    "aten::conv1d",    "aten::conv2d",   "aten::lstm",
      "aten::gru",    "aten::lstm_cell", "aten::gru_cell", "aten::einsum"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

enum class Use : uint8_t { kOther, kIndex, kCompute };

// The operators of one call of a function in one step.
struct Loop {
  std::vector<SliceId> indexing;
};

struct LoopWork {
  uint64_t loops = 0;
  uint64_t indexing = 0;
  int64_t ns = 0;
  int64_t backward_ns = 0;
  int64_t longest_ns = -1;
  SliceId longest = kNoSlice;
};

class Loops {
 public:
  Loops(const Case& c, const UserOperators& operators) : c_(c), operators_(operators) {
    for (const Label& label : c.trace.labels().all()) {
      const std::string_view name = c.trace.string(label.name);
      use_.push_back(label.kind != SliceKind::kOperator ? Use::kOther
                     : is_indexing(name)                ? Use::kIndex
                     : is_computing(name)               ? Use::kCompute
                                                        : Use::kOther);
    }
  }

  void find() {
    std::map<SliceId, Loop> open;  // calls of the step so far
    uint32_t step = 0;
    for (const UserOperator& op : operators_.all()) {
      if (op.step != step) {
        close(open);
        step = op.step;
      }
      if (op.is_backward || op.call == kNoSlice || op.part == Part::kInput) continue;
      const Use use = use_[index(c_.trace.slices().label[index(op.slice)])];
      if (use == Use::kIndex && op.is_direct) open[op.call].indexing.push_back(op.slice);
    }
    close(open);
  }

  std::map<LabelId, LoopWork> by_function;

 private:
  void close(std::map<SliceId, Loop>& open) {
    for (auto& [call, loop] : open) {
      if (loop.indexing.size() >= kMany) add(call, loop);
    }
    open.clear();
  }

  void add(SliceId call, const Loop& loop) {
    const SliceColumns& slices = c_.trace.slices();
    // What lies between two of them: more slices than in an iteration are other work. Time alone
    // does not tell: a loop may have to wait for a core.
    std::vector<uint32_t> sizes;
    for (size_t i = 1; i < loop.indexing.size(); ++i) {
      sizes.push_back(index(loop.indexing[i]) - index(loop.indexing[i - 1]));
    }
    std::vector<uint32_t> sorted = sizes;
    // An iteration may index several times at once: its size is among the larger ones.
    const auto large = sorted.begin() + static_cast<ptrdiff_t>(sorted.size() * 3 / 4);
    std::nth_element(sorted.begin(), large, sorted.end());
    const uint32_t limit = kIterations * *large;
    int64_t ns = 0, backward_ns = 0;
    uint64_t computing = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const SliceId first = loop.indexing[i], end = loop.indexing[i + 1];
      const int64_t period_ns = slices.start_ns[index(end)] - slices.start_ns[index(first)];
      if (sizes[i] > limit || period_ns > kLongestPeriodNs) continue;
      ns += period_ns;
      for (SliceId at = first; at < end; at = SliceId{index(at) + 1}) {
        computing += use_[index(slices.label[index(at)])] == Use::kCompute;
      }
      backward_ns += operators_.backward_ns(c_.trace, first, end);
    }
    if (static_cast<double>(computing) > kComputing * static_cast<double>(loop.indexing.size())) {
      return;
    }
    LoopWork& work = by_function[slices.label[index(call)]];
    ++work.loops;
    work.indexing += loop.indexing.size();
    work.ns += ns;
    work.backward_ns += backward_ns;
    if (ns <= work.longest_ns) return;
    work.longest_ns = ns;
    work.longest = call;
  }

  const Case& c_;
  const UserOperators& operators_;
  std::vector<Use> use_;  // by label
};

}  // namespace for_loop_indexing

void check_for_loop_indexing(const Case& c, Findings& found) {
  using namespace for_loop_indexing;
  if (!c.work) return;
  const auto operators = UserOperators::of(c);
  Loops loops(c, *operators);
  loops.find();
  LoopWork sum;
  const std::pair<const LabelId, LoopWork>* most = nullptr;
  for (const auto& entry : loops.by_function) {
    const LoopWork& work = entry.second;
    sum.loops += work.loops;
    sum.indexing += work.indexing;
    sum.ns += work.ns;
    sum.backward_ns += work.backward_ns;
    if (most == nullptr || work.ns > most->second.ns) most = &entry;
  }
  // Of the time with the recording, which costs the loop as much as the rest, operator by operator.
  const double share = std::min(1.0, static_cast<double>(sum.ns + sum.backward_ns) /
                                         static_cast<double>(std::max<int64_t>(1, c.recorded_ns)));
  if (most == nullptr || share < kWarningAtStake) return;

  Finding finding;
  finding.id = "for-loop-indexing";
  // One operation for all takes about as long as a few of them did.
  const double left =
      std::min(kMostLeft, 3 * static_cast<double>(sum.loops) / static_cast<double>(sum.indexing));
  finding.at_stake_fraction = share * (1 - left);
  finding.where = c.place(most->first);
  finding.title = in_percent(share) + (c.has_steps() ? " of each step" : " of the time") +
                  " is a loop that indexes tensors piece by piece in " + finding.where;
  finding.figures = {
      {"indexing operators per step",
       static_cast<double>(sum.indexing) / static_cast<double>(c.steps()), Unit::kCount},
      {"loop per step", static_cast<double>(c.per_step(sum.ns)), Unit::kNs},
      {"its backward per step", static_cast<double>(c.per_step(sum.backward_ns)), Unit::kNs}};
  finding.slices = {most->second.longest};
  finding.fix =
      "Let one operation do it for the whole tensor: a slice, a mask, gather, or a sum over a "
      "dimension.";
  finding.code = "# for i in range(len(x)): total += x[i].pow(2).sum()\ntotal = x.pow(2).sum()";
  finding.includes = {"python-hotspot", "dispatch-bound", "host-sync"};
  found.push_back(std::move(finding));
}

}  // namespace stepscope
