#include "trace/operator_details.h"

namespace stepscope {
namespace {

constexpr uint64_t kBackwardScope = 1;  // at::RecordScope::BACKWARD_FUNCTION
constexpr uint64_t kSequenceMax = (uint64_t{1} << 40) - 1;

}  // namespace

void OperatorDetails::set_columns() {
  if (columns_) return;
  columns_ = Columns{
      .sequence = builder_.arg_column("Sequence number", ArgType::kInt),
      .forward_thread = builder_.arg_column("Fwd thread id", ArgType::kInt),
      .dims = builder_.arg_column("Input Dims", ArgType::kJson),
      .types = builder_.arg_column("Input type", ArgType::kJson),
      .strides = builder_.arg_column("Input Strides", ArgType::kJson),
      .concrete = builder_.arg_column("Concrete Inputs", ArgType::kJson),
  };
}

void OperatorDetails::add_operator(SliceRef slice, std::span<const uint64_t> words) {
  if (words.size() < 2) {
    builder_.stats().add(Stat::kEventsSkipped);
    return;
  }
  set_columns();
  const uint64_t sequence = words[0];
  const uint64_t forward_thread = words[1] >> 32;
  const uint64_t scope = words[1] >> 24 & 255;
  const uint64_t thread = words[1] & 0xFFFFFF;
  builder_.add_int(columns_->sequence, slice, static_cast<int64_t>(sequence));
  builder_.add_int(columns_->forward_thread, slice, static_cast<int64_t>(forward_thread));
  if (sequence > kSequenceMax) return;
  if (forward_thread == 0) {
    const auto [last, is_new] = forward_.try_emplace(node(thread, sequence), index(slice));
    if (!is_new && builder_.start_ns(slice) >= builder_.start_ns(SliceRef{last})) {
      last = index(slice);
    }
  } else if (scope == kBackwardScope) {
    backward_.push_back({node(forward_thread, sequence), slice});
  }
}

void OperatorDetails::add_inputs(SliceRef slice, std::span<const uint64_t> words) {
  if (slice != inputs_of_) {
    write_inputs();
    inputs_of_ = slice;
  }
  input_words_.insert(input_words_.end(), words.begin(), words.end());
}

void OperatorDetails::write_inputs() {
  if (inputs_of_ == kNoSliceRef) return;
  set_columns();
  const InputTexts texts = inputs_.decode(input_words_);
  builder_.add_string(columns_->dims, inputs_of_, texts.dims);
  builder_.add_string(columns_->types, inputs_of_, texts.types);
  builder_.add_string(columns_->strides, inputs_of_, texts.strides);
  builder_.add_string(columns_->concrete, inputs_of_, texts.concrete);
  input_words_.clear();
  inputs_of_ = kNoSliceRef;
}

void OperatorDetails::finish() {
  write_inputs();
  if (backward_.empty()) return;
  const LabelId label = builder_.label("fwdbwd", "fwdbwd", SliceKind::kOther);
  for (const auto& [node, backward] : backward_) {
    // Where the forward pass was not recorded there is nothing to point from.
    const uint32_t* found = forward_.find(node);
    if (found == nullptr) continue;
    const SliceRef forward{*found};
    builder_.add_flow(forward, backward, builder_.start_ns(forward), builder_.start_ns(backward),
                      node & kSequenceMax, label);
  }
}

}  // namespace stepscope
