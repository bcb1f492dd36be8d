#include "analyze/sampled_frames.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "trace/function_name.h"
#include "trace/stack_walk.h"

namespace stepscope {
namespace {

using std::string_view;

// Of a function by itself.
struct FunctionMeaning {
  FrameMeaning meaning;
  bool is_map_fetch = false;   // its callees make items, or are the program's own collate function
  bool is_item_maker = false;  // by its name
};

bool is_collective(string_view name) {
  constexpr std::array<string_view, 8> kBegins = {"all_reduce",     "all_gather", "all_to_all",
                                                  "reduce_scatter", "broadcast",  "barrier",
                                                  "gather",         "scatter"};
  return name == "reduce" || name == "send" || name == "recv" ||
         std::any_of(kBegins.begin(), kBegins.end(),
                     [&](string_view begin) { return name.starts_with(begin); });
}

FunctionMeaning find_meaning(string_view qualified_name, string_view file) {
  FunctionMeaning found;
  const string_view name = last_name(qualified_name);
  found.is_item_maker =
      name == "__getitem__" || name == "__getitems__" || name == "<listcomp>" || name == "__len__";
  const size_t at = file.rfind("torch/");
  if (at == file.npos || (at > 0 && file[at - 1] != '/')) return found;
  const string_view in_torch = file.substr(at);
  FrameMeaning& meaning = found.meaning;
  meaning.is_torch = true;
  if (in_torch == "torch/nn/modules/module.py") {
    const bool is_call = name == "_call_impl" || name == "_wrapped_call_impl";
    if (is_call) meaning.mark = FrameMark::kForward;
  } else if (in_torch == "torch/utils/data/dataloader.py") {
    if (name == "__next__") meaning.opens = TrainingRole::kInput;
  } else if (in_torch == "torch/utils/data/_utils/fetch.py") {
    if (name == "fetch") meaning.mark = FrameMark::kFetch;
    found.is_map_fetch = qualified_name == "_MapDatasetFetcher.fetch";
  } else if (in_torch == "torch/utils/data/_utils/collate.py") {
    if (name == "default_collate") meaning.mark = FrameMark::kCollate;
  } else if (in_torch == "torch/optim/optimizer.py") {
    if (name == "wrapper") meaning.opens = TrainingRole::kOptimizerStep;
    if (name == "zero_grad") meaning.opens = TrainingRole::kZeroGrad;
  } else if (in_torch == "torch/autograd/__init__.py") {
    if (name == "backward") meaning.is_in = TrainingRole::kBackwardCall;
  } else if (in_torch == "torch/serialization.py") {
    if (name == "save") meaning.mark = FrameMark::kCheckpoint;
  } else if (in_torch == "torch/distributed/distributed_c10d.py") {
    if (is_collective(name)) meaning.mark = FrameMark::kCommunication;
  }
  return found;
}

uint8_t bit_of(FrameMark mark) { return static_cast<uint8_t>(1U << static_cast<unsigned>(mark)); }

}  // namespace

std::vector<FrameMeaning> find_frame_meanings(const Trace& trace) {
  std::vector<FunctionMeaning> functions;
  functions.reserve(trace.frames().size());
  for (const Frame& frame : trace.frames()) {
    functions.push_back(find_meaning(trace.string(frame.name), trace.string(frame.file)));
  }
  const std::span<const StackNode> stacks = trace.stacks();
  std::vector<FrameMeaning> meanings(stacks.size());
  std::vector<uint8_t> marks(stacks.size(), 0);            // that a node lies in, or has itself
  for (uint32_t node = 0; node < stacks.size(); ++node) {  // parents come first
    const uint32_t frame = index(stacks[node].frame);
    if (frame >= functions.size()) continue;
    meanings[node] = functions[frame].meaning;
    FrameMark& mark = meanings[node].mark;
    const uint32_t parent = parent_of_stack(stacks, node);
    if (parent != kNoParent) {
      marks[node] = marks[parent];
      const uint32_t caller = index(stacks[parent].frame);
      const bool is_called_by_fetch = caller < functions.size() && functions[caller].is_map_fetch;
      if (is_called_by_fetch && !functions[frame].is_item_maker) mark = FrameMark::kCollate;
    }
    if (mark == FrameMark::kNone) continue;
    const uint8_t bit = bit_of(mark);
    if ((marks[node] & bit) != 0) mark = FrameMark::kNone;
    marks[node] |= bit;
  }
  return meanings;
}

}  // namespace stepscope
