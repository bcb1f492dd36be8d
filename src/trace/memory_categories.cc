#include "trace/memory_categories.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "trace/training_phases.h"

namespace stepscope {
namespace {

// How modules come to the memory of their parameters: uninitialised or with one value.
bool makes_room(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kNames = {
      "aten::empty", "aten::empty_strided", "aten::empty_like", "aten::zeros",
      "aten::ones",  "aten::full",          "aten::zeros_like", "aten::ones_like"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// How they come to another device or type, or out of a checkpoint.
bool copies(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kNames = {"aten::to", "aten::_to_copy",
                                                             "aten::clone", "aten::contiguous"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// Whole numbers need no gradient, whatever their size.
bool makes_whole_numbers(std::string_view name) {
  return name == "aten::randint" || name == "aten::randperm" || name == "aten::arange";
}

class Categorizer {
 public:
  Categorizer(const Trace& trace, const AllocationLifetimes& all)
      : trace_(trace), all_(all), phases_(trace), gradient_bytes_(all.spaces.size()) {}

  std::vector<MemoryCategory> run() {
    std::vector<MemoryCategory> categories;
    categories.reserve(all_.lifetimes.size());
    std::vector<uint32_t> kept;
    for (const Lifetime& life : all_.lifetimes) {
      const MemoryCategory category = judge(life);
      if (category == MemoryCategory::kGradient) {
        gradient_bytes_[life.space].push_back(life.bytes);
      }
      if (category == kKept) kept.push_back(static_cast<uint32_t>(categories.size()));
      categories.push_back(category);
    }
    for (std::vector<int64_t>& bytes : gradient_bytes_) std::sort(bytes.begin(), bytes.end());
    for (const uint32_t id : kept) categories[id] = judge_kept(all_.lifetimes[id]);
    return categories;
  }

 private:
  // Made without autograd, alive across a backward pass: told apart once the gradients are known.
  static constexpr MemoryCategory kKept{kMemoryCategoryCount};

  uint32_t process_of(const Lifetime& life) const { return all_.spaces[life.space].process; }
  SliceId slice_at(uint32_t row) const { return trace_.allocations().slice[row]; }
  TrainingPhases::Moment moment_at(uint32_t row) const {
    const AllocationColumns& columns = trace_.allocations();
    return phases_.find(columns.track[row], columns.slice[row], columns.time_ns[row]);
  }

  MemoryCategory judge(const Lifetime& life) const {
    if (life.was_there_before()) return judge_from_before(life);
    const TrainingPhases::Moment taken = moment_at(life.taken_row);
    const bool outlives = life.end_ns > taken.end_ns;
    switch (taken.phase) {
      case TrainingPhase::kInput:
        return outlives ? MemoryCategory::kInput : MemoryCategory::kTemporary;
      case TrainingPhase::kZeroGrad:
        return outlives ? MemoryCategory::kUnknown : MemoryCategory::kTemporary;
      case TrainingPhase::kBackward:
        if (outlives) return MemoryCategory::kGradient;
        return life.end_ns <= taken.node_end_ns ? MemoryCategory::kTemporary
                                                : MemoryCategory::kAutogradDetail;
      case TrainingPhase::kOptimizer:
        if (phases_.made_node(slice_at(life.taken_row))) break;  // a closure that goes forward
        return outlives ? MemoryCategory::kOptimizerState : MemoryCategory::kTemporary;
      case TrainingPhase::kOther:
        break;
    }
    return judge_forward(life);
  }

  MemoryCategory judge_forward(const Lifetime& life) const {
    const int64_t training_begin_ns = phases_.training_begin_ns(process_of(life));
    if (training_begin_ns == TrainingPhases::kNeverNs) return MemoryCategory::kUnknown;
    const int64_t backward_ns = phases_.find_next_backward_ns(process_of(life), life.begin_ns);
    const bool has_backward = backward_ns != TrainingPhases::kNeverNs;
    const bool is_setup = life.begin_ns < training_begin_ns;
    if (life.end_ns < (has_backward || !is_setup ? backward_ns : training_begin_ns)) {
      return MemoryCategory::kTemporary;
    }
    if (phases_.made_node(slice_at(life.taken_row))) return MemoryCategory::kActivation;
    return has_backward || is_setup ? kKept : MemoryCategory::kUnknown;
  }

  MemoryCategory judge_from_before(const Lifetime& life) const {
    if (life.is_open() || life.end_ns > phases_.first_update_ns(process_of(life))) {
      return MemoryCategory::kParameter;
    }
    switch (moment_at(life.freed_row).phase) {
      case TrainingPhase::kZeroGrad:
        return MemoryCategory::kGradient;
      case TrainingPhase::kBackward:
        return MemoryCategory::kActivation;
      case TrainingPhase::kInput:
        return MemoryCategory::kInput;
      case TrainingPhase::kOptimizer:
      case TrainingPhase::kOther:
        break;
    }
    return MemoryCategory::kUnknown;
  }

  MemoryCategory judge_kept(const Lifetime& life) const {
    const SliceId outermost = phases_.outermost_operator(slice_at(life.taken_row));
    const std::string_view name = outermost == kNoSlice ? "" : trace_.slice_name(outermost);
    const std::vector<int64_t>& gradients = gradient_bytes_[life.space];
    const bool is_as_a_gradient =
        !makes_whole_numbers(name) &&
        std::binary_search(gradients.begin(), gradients.end(), life.bytes);
    const bool is_setup = life.begin_ns < phases_.training_begin_ns(process_of(life));
    const bool is_parameter =
        is_setup ? is_as_a_gradient || name.empty() || makes_room(name) || copies(name)
                 : is_as_a_gradient && makes_room(name);
    return is_parameter ? MemoryCategory::kParameter : MemoryCategory::kInput;
  }

  const Trace& trace_;
  const AllocationLifetimes& all_;
  const TrainingPhases phases_;
  std::vector<std::vector<int64_t>> gradient_bytes_;  // by space, sorted
};

}  // namespace

std::vector<MemoryCategory> find_memory_categories(const Trace& trace,
                                                   const AllocationLifetimes& all) {
  if (all.lifetimes.empty()) return {};  // no need to look at the slices
  return Categorizer(trace, all).run();
}

}  // namespace stepscope
