// tensor-from-python-list: tensors are made from lists, number by number.
//
//   batch()     ······│empty│·· reads the list ··│to│lift_fresh│detach_│
//
// torch.tensor() is no function that is recorded, but its operators are, and between them it reads
// the list; before the first, it looks through the list for the type of its numbers.
#include <algorithm>
#include <map>
#include <string_view>

#include "advise/finding_text.h"
#include "advise/input_model.h"
#include "advise/rules.h"
#include "advise/user_operators.h"

namespace stepscope {
namespace tensor_from_python_list {

constexpr int64_t kLeastReadNs = 2000;  // less is a scalar, or a handful of numbers

// Looking for the types takes up to so many times as long as reading; more is other work.
constexpr int64_t kOfReading = 3;

// A function that spends so much of its time on that is there for nothing else: what it does
// besides (makes the list, scales the result) goes with it.
constexpr double kMostOfFunction = 0.5;

struct Made {
  uint64_t tensors = 0;
  int64_t ns = 0;
  int64_t input_ns = 0;  // of this, while a batch was fetched
  int64_t longest_ns = -1;
  SliceId longest = kNoSlice;
};

// How long the list was read before this lift_fresh; 0: it was not.
int64_t find_read_ns(const Trace& trace, std::span<const UserOperator> all, size_t i) {
  const SliceColumns& slices = trace.slices();
  if (i < 2 || all[i].call == kNoSlice || trace.slice_name(all[i].slice) != "aten::lift_fresh")
    return 0;
  if (trace.slice_name(all[i - 1].slice) != "aten::to" ||
      trace.slice_name(all[i - 2].slice) != "aten::empty" || all[i - 2].call != all[i].call)
    return 0;
  const uint32_t empty = index(all[i - 2].slice);
  const int64_t read_ns = slices.start_ns[index(all[i - 1].slice)] - slices.end_ns(empty);
  if (read_ns < kLeastReadNs) return 0;
  // What was before: the end of the slice before in the same function, or the function's begin.
  const SliceId call = slices.parent[empty];
  int64_t before_ns = call == kNoSlice ? slices.start_ns[empty] : slices.start_ns[index(call)];
  if (empty > 0 && SliceId{empty - 1} != call) {
    SliceId sibling{empty - 1};
    while (sibling != kNoSlice && slices.parent[index(sibling)] != call) {
      sibling = slices.parent[index(sibling)];
    }
    if (sibling != kNoSlice) before_ns = std::max(before_ns, slices.end_ns(index(sibling)));
  }
  const int64_t types_ns = std::min(slices.start_ns[empty] - before_ns, kOfReading * read_ns);
  return read_ns + std::max<int64_t>(0, types_ns);
}

// What functions that mostly make tensors of lists do besides.
int64_t find_other_ns(const Case& c, const std::map<LabelId, Made>& by_function) {
  int64_t other_ns = 0;
  for (const auto& [label, made] : by_function) {
    int64_t own_ns = 0;
    for (const Part part : {Part::kInput, Part::kRest}) {
      if (const FunctionWork* function = c.work->find(label, part)) own_ns += function->own_ns;
    }
    if (static_cast<double>(made.ns) < kMostOfFunction * static_cast<double>(own_ns)) continue;
    other_ns += std::max<int64_t>(0, own_ns - made.ns);
  }
  return other_ns;
}

}  // namespace tensor_from_python_list

void check_tensor_from_python_list(const Case& c, Findings& found) {
  using namespace tensor_from_python_list;
  bool has_lists = false;
  for (const Label& label : c.trace.labels().all()) {
    has_lists |= c.trace.string(label.name) == "aten::lift_fresh";
  }
  if (!has_lists || !c.work) return;
  const SliceColumns& slices = c.trace.slices();
  const auto operators = UserOperators::of(c);
  const auto all = operators->all();
  std::map<LabelId, Made> by_function;
  Made sum;
  for (size_t i = 0; i < all.size(); ++i) {
    const int64_t read_ns = find_read_ns(c.trace, all, i);
    if (read_ns == 0) continue;
    Made& made = by_function[slices.label[index(all[i].call)]];
    for (Made* to : {&made, &sum}) {
      ++to->tensors;
      to->ns += read_ns;
      if (all[i].part == Part::kInput) to->input_ns += read_ns;
      if (read_ns <= to->longest_ns) continue;
      to->longest_ns = read_ns;
      to->longest = all[i].call;
    }
  }
  const double share = c.share(sum.ns);
  if (sum.tensors == 0 || share < kLeastAtStake) return;
  const auto most =
      std::max_element(by_function.begin(), by_function.end(),
                       [](const auto& a, const auto& b) { return a.second.ns < b.second.ns; });

  // A slow collate function is a finding of its own.
  if (c.input.has_own_collate && most->first == c.input.collate &&
      2 * c.input.collate_ns >= c.input.fetch_ns && c.share(c.input.wait_ns) >= kWarningAtStake) {
    return;
  }

  Finding finding;
  finding.id = "tensor-from-python-list";
  finding.at_stake_fraction = std::min(1.0, share + c.share(find_other_ns(c, by_function)));
  finding.where = c.place(most->first);
  finding.title = in_percent(share) + (c.has_steps() ? " of each step" : " of the time") +
                  " makes tensors from Python lists, number by number";
  finding.figures = {
      {"tensors per step", static_cast<double>(sum.tensors) / static_cast<double>(c.steps()),
       Unit::kCount},
      {"a tensor takes", static_cast<double>(sum.ns) / static_cast<double>(sum.tensors), Unit::kNs},
      {"per step", static_cast<double>(c.per_step(sum.ns)), Unit::kNs}};
  finding.slices = {most->second.longest};
  finding.fix =
      "Keep the data as one tensor (or NumPy array), made once, and index it; or make an array of "
      "the list first.";
  finding.code = "data = torch.tensor(rows)      # once\nbatch = data[indices]";
  // What it takes in a function is that function's Python time.
  finding.includes.emplace_back("python-hotspot");
  if (sum.input_ns > c.input.fetch_ns / 2 && c.input.is_in_process) {
    finding.includes.emplace_back("dataset-slow-item");
    finding.includes.emplace_back("dataloader-in-process");
  }
  found.push_back(std::move(finding));
}

}  // namespace stepscope
