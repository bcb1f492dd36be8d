#include "collect/sample/frame_chain.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "collect/sample/value_at.h"

namespace stepscope::sample {
namespace {

constexpr size_t kMaxFrames = 1 << 17;
constexpr int32_t kMaxStackTop = 1 << 16;
constexpr int kMaxCallsSince = 64;
constexpr uint64_t kNotCopied = UINT64_MAX;

class FrameChain {
 public:
  FrameChain(const ProcessMemory& memory, const PythonLayout& layout, const CodeTable& codes,
             CallLinks& links, ThreadCopy& copy)
      : memory_(memory), layout_(layout), codes_(codes), links_(links), copy_(copy) {}

  ChainResult walk();
  ChainResult check();
  void give(std::vector<StackFrame>& frames) const;
  size_t unproven() const { return unproven_; }

 private:
  struct Frame {
    uint64_t address = 0;
    const uint8_t* bytes = nullptr;  // in the first copy
    uint64_t code = 0;
    int32_t stack_top = -1;
    bool is_entry = false;
    bool is_generator = false;
    bool has_ended = false;  // a generator that does not run
  };

  bool is_on_c_stack(const uint8_t* bytes) const {
    return layout_.version >= PythonVersion{3, 12} &&
           value_at<uint8_t>(bytes, layout_.frame.owner) == kOwnedByCStack;
  }
  std::optional<Frame> frame_at(uint64_t address) const;
  bool is_executing(const Frame& generator) const;
  // What lies on the C stack between two frames.
  bool is_the_same_mark(const Frame& mark) const {
    const uint32_t offset = layout_.frame.previous;
    return value_at<uint64_t>(mark.bytes, offset) ==
           value_at<uint64_t>(copy_.find_again(mark.bytes), offset);
  }
  bool is_the_same(const Frame& frame, bool with_instruction) const;
  bool is_calling(const Frame& caller) const;
  bool have_stood_still_from(size_t index);
  bool has_called(const Frame& caller, const Frame& callee) const;
  bool is_believed(const Frame& caller, const Frame& callee);
  void follow_calls_since();

  const ProcessMemory& memory_;
  const PythonLayout& layout_;
  const CodeTable& codes_;
  CallLinks& links_;
  ThreadCopy& copy_;
  std::vector<Frame> frames_;  // the innermost first
  bool marks_stood_still_ = true;
  size_t first_still_ = 0;  // frames from here on outwards are known to have stood still
  size_t unproven_ = 0;
};

std::optional<FrameChain::Frame> FrameChain::frame_at(uint64_t address) const {
  const uint8_t* bytes = copy_.find(address, layout_.frame.size);
  if (bytes == nullptr) return std::nullopt;
  Frame frame{.address = address, .bytes = bytes};
  frame.code = value_at<uint64_t>(bytes, layout_.frame.code);
  if (layout_.frame.stack_top == kNowhere) {
    frame.is_entry = true;
    return frame;
  }
  frame.stack_top = value_at<int32_t>(bytes, layout_.frame.stack_top);
  frame.is_generator = value_at<uint8_t>(bytes, layout_.frame.owner) == kOwnedByGenerator;
  if (frame.is_generator && !is_executing(frame)) frame.has_ended = true;
  if (layout_.frame.is_entry != kNowhere) {
    frame.is_entry = value_at<uint8_t>(bytes, layout_.frame.is_entry) != 0;
  }
  return frame;
}

// The state of a generator lies right before its frame. 0 is running in all versions.
bool FrameChain::is_executing(const Frame& generator) const {
  const uint64_t address =
      generator.address - layout_.generator.iframe + layout_.generator.frame_state;
  const uint8_t* state = copy_.find(address, 1);
  return state == nullptr || (*state == 0 && *copy_.find_again(state) == 0);
}

ChainResult FrameChain::walk() {
  uint64_t address = copy_.top_frame();
  while (address != 0) {
    const auto frame = frame_at(address);
    if (!frame) {
      return copy_.learn(memory_, layout_, address) ? ChainResult::kMissing : ChainResult::kTorn;
    }
    if (is_on_c_stack(frame->bytes)) {
      if (!frames_.empty()) frames_.back().is_entry = true;
      marks_stood_still_ = marks_stood_still_ && is_the_same_mark(*frame);
    } else {
      frames_.push_back(*frame);
    }
    if (frames_.size() > kMaxFrames) return ChainResult::kTorn;
    const auto previous = value_at<uint64_t>(frame->bytes, layout_.frame.previous);
    if (previous == address) return ChainResult::kTorn;
    address = previous;
  }
  return ChainResult::kGood;
}

// Whether the second copy has the frame as well. Its own instruction matters where it is a caller:
// that is where it called.
bool FrameChain::is_the_same(const Frame& frame, bool with_instruction) const {
  const uint8_t* again = copy_.find_again(frame.bytes);
  const auto is_equal = [&](uint32_t offset, size_t bytes) {
    return offset == kNowhere || std::memcmp(frame.bytes + offset, again + offset, bytes) == 0;
  };
  const auto& layout = layout_.frame;
  return is_equal(layout.code, 8) && is_equal(layout.previous, 8) && is_equal(layout.function, 8) &&
         (!with_instruction || (is_equal(layout.instruction, 8) && is_equal(layout.stack_top, 4)));
}

// A frame that has only just been made looks as if it called, and its stack is still that of the
// frame that lay there before. But no function begins with a call.
bool FrameChain::is_calling(const Frame& caller) const {
  if (caller.stack_top < 0) return false;
  const auto instruction = value_at<uint64_t>(caller.bytes, layout_.frame.instruction);
  return instruction > caller.code + layout_.code.instructions;
}

// Whether the frame and all that called it were in the same calls both times. The frame alone would
// not do: one that is over stays as it was until its place is taken.
bool FrameChain::have_stood_still_from(size_t index) {
  while (first_still_ > index) {
    if (!is_the_same(frames_[first_still_ - 1], true)) return false;
    --first_still_;
  }
  return true;
}

// What was called still lies where the caller's stack ends: a generator as its last item, a
// function just above. There it was written for this call; what lies beyond may be left from
// another one.
bool FrameChain::has_called(const Frame& caller, const Frame& callee) const {
  if (caller.stack_top < 0 || caller.stack_top > kMaxStackTop) return false;
  const uint64_t covered = copy_.covered_after(caller.address);
  const auto slot = [&](int32_t number) -> uint64_t {
    const uint32_t offset = layout_.frame.locals + static_cast<uint32_t>(number) * 8;
    return number >= 0 && offset + 8 <= covered ? value_at<uint64_t>(caller.bytes, offset)
                                                : kNotCopied;
  };
  if (callee.is_generator) {
    return slot(caller.stack_top - 1) == callee.address - layout_.generator.iframe;
  }
  const auto function = value_at<uint64_t>(callee.bytes, layout_.frame.function);
  const uint64_t first = slot(caller.stack_top);
  if (first == function) return true;
  // To 3.12 the place of a method comes first, and is empty where it is none.
  const bool has_empty_place = layout_.version < PythonVersion{3, 13} && first == 0;
  return has_empty_place && slot(caller.stack_top + 1) == function;
}

// A call that the copy shows. Its caller may have changed while it was copied itself: head and
// stack may be of two functions that lay there one after the other.
bool FrameChain::is_believed(const Frame& caller, const Frame& callee) {
  const auto instruction = value_at<uint64_t>(caller.bytes, layout_.frame.instruction);
  const uint32_t end = layout_.frame.locals + static_cast<uint32_t>(caller.stack_top + 2) * 8;
  const uint32_t begin =
      layout_.frame.locals + static_cast<uint32_t>(std::max(caller.stack_top - 1, 0)) * 8;
  const uint8_t* again = copy_.find_again(caller.bytes);
  const bool stood_still = end <= copy_.covered_after(caller.address) &&
                           is_the_same(caller, true) &&
                           std::memcmp(caller.bytes + begin, again + begin, end - begin) == 0;
  return stood_still || links_.see(caller.code, instruction, callee.code);
}

ChainResult FrameChain::check() {
  first_still_ = frames_.size();
  if (!frames_.empty()) {
    // C code called the first one of a thread. Where another one seems to have no caller, that was
    // not written yet; a generator that has yielded since has none any more.
    const Frame& first = frames_.back();
    if (!first.is_entry || first.is_generator) return ChainResult::kTorn;
    if (frames_.size() == 1 && !is_the_same(first, false)) return ChainResult::kTorn;
  }
  if (std::any_of(frames_.begin(), frames_.end(), [](const Frame& f) { return f.has_ended; })) {
    return ChainResult::kTorn;
  }
  for (size_t i = frames_.size(); i-- > 1;) {
    const Frame& caller = frames_[i];
    const Frame& callee = frames_[i - 1];
    if (!callee.is_entry && !is_calling(caller)) {
      // It had not called, or the call was over: the rest was there before.
      frames_.erase(frames_.begin(), frames_.begin() + static_cast<ptrdiff_t>(i));
      return unproven_ == 0 ? ChainResult::kGood : ChainResult::kProbable;
    }
    if (!callee.is_entry && has_called(caller, callee)) {
      if (!is_believed(caller, callee)) return ChainResult::kTorn;
      continue;
    }
    const bool stood_still = have_stood_still_from(i) && is_the_same(callee, false) &&
                             copy_.is_top_the_same() && marks_stood_still_;
    if (!stood_still) return ChainResult::kTorn;
    const auto instruction = value_at<uint64_t>(caller.bytes, layout_.frame.instruction);
    if (!links_.see(caller.code, instruction, callee.code)) unproven_ = frames_.size() - (i - 1);
  }
  follow_calls_since();
  return unproven_ == 0 ? ChainResult::kGood : ChainResult::kProbable;
}

// The innermost frame may have called further since it was asked for.
void FrameChain::follow_calls_since() {
  for (int i = 0; i < kMaxCallsSince && !frames_.empty(); ++i) {
    const Frame top = frames_.front();
    const uint32_t bytes = codes_.frame_bytes(top.code);
    if (!is_calling(top) || top.is_generator || bytes == 0) return;
    const auto next = frame_at(top.address + bytes);
    const bool is_called = next && !next->is_entry &&
                           value_at<uint64_t>(next->bytes, layout_.frame.previous) == top.address &&
                           has_called(top, *next) && is_believed(top, *next);
    if (!is_called) return;
    frames_.insert(frames_.begin(), *next);
  }
}

void FrameChain::give(std::vector<StackFrame>& frames) const {
  frames.clear();
  frames.reserve(frames_.size());
  for (const Frame& frame : frames_) {
    int32_t instruction = 0;
    if (layout_.top == PythonLayout::Top::kFrameObject) {
      instruction = value_at<int32_t>(frame.bytes, layout_.frame.instruction);
      if (layout_.version == PythonVersion{3, 10}) instruction *= 2;  // counted in units there
    } else {
      const auto at = value_at<uint64_t>(frame.bytes, layout_.frame.instruction);
      instruction = static_cast<int32_t>(at - (frame.code + layout_.code.instructions));
    }
    frames.push_back({frame.code, frame.address, instruction, frame.is_entry, frame.is_generator});
  }
}

}  // namespace

ChainResult read_frames(const ProcessMemory& memory, const PythonLayout& layout,
                        const CodeTable& codes, CallLinks& links, bool is_paused, ThreadCopy& copy,
                        std::vector<StackFrame>& frames, size_t& unproven) {
  FrameChain chain(memory, layout, codes, links, copy);
  ChainResult result = chain.walk();
  if (result == ChainResult::kGood && !is_paused) result = chain.check();
  if (result == ChainResult::kGood || result == ChainResult::kProbable) chain.give(frames);
  unproven = chain.unproven();
  return result;
}

}  // namespace stepscope::sample
