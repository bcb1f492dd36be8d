#include "collect/sample/frame_chain.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace stepscope::sample {
namespace {

constexpr size_t kMaxFrames = 1 << 17;
constexpr int32_t kMaxStackTop = 1 << 16;
constexpr int kMaxCallsSince = 64;

template <typename T>
T value_at(const uint8_t* bytes, uint32_t offset) {
  T value;
  std::memcpy(&value, bytes + offset, sizeof(value));
  return value;
}

class FrameChain {
 public:
  FrameChain(const ProcessMemory& memory, const PythonLayout& layout, const CodeTable& codes,
             ThreadCopy& copy)
      : memory_(memory), layout_(layout), codes_(codes), copy_(copy) {}

  ChainResult walk();
  ChainResult check();
  void give(std::vector<StackFrame>& frames) const;

 private:
  struct Frame {
    uint64_t address = 0;
    const uint8_t* bytes = nullptr;  // in the first copy
    uint64_t code = 0;
    int32_t stack_top = -1;
    bool is_entry = false;
    bool is_generator = false;
  };

  bool is_on_c_stack(const uint8_t* bytes) const {
    return layout_.version >= PythonVersion{3, 12} &&
           value_at<uint8_t>(bytes, layout_.frame.owner) == kOwnedByCStack;
  }
  std::optional<Frame> frame_at(uint64_t address) const;
  // What lies on the C stack between two frames.
  bool is_the_same_mark(const Frame& mark) const {
    const uint32_t offset = layout_.frame.previous;
    return value_at<uint64_t>(mark.bytes, offset) ==
           value_at<uint64_t>(copy_.find_again(mark.bytes), offset);
  }
  bool is_the_same(const Frame& frame, bool with_instruction) const;
  bool has_called(const Frame& caller, const Frame& callee) const;
  void follow_calls_since();

  const ProcessMemory& memory_;
  const PythonLayout& layout_;
  const CodeTable& codes_;
  ThreadCopy& copy_;
  std::vector<Frame> frames_;  // the innermost first
  bool marks_stood_still_ = true;
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
  if (layout_.frame.is_entry != kNowhere) {
    frame.is_entry = value_at<uint8_t>(bytes, layout_.frame.is_entry) != 0;
  }
  return frame;
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

// The function that was called, or the generator that was resumed, still lies at the end of the
// caller's stack.
bool FrameChain::has_called(const Frame& caller, const Frame& callee) const {
  if (caller.stack_top < 0 || caller.stack_top > kMaxStackTop) return false;
  const uint64_t wanted = callee.is_generator
                              ? callee.address - layout_.generator.iframe
                              : value_at<uint64_t>(callee.bytes, layout_.frame.function);
  const uint64_t covered = copy_.covered_after(caller.address);
  for (int32_t slot = std::max(caller.stack_top - 1, 0); slot <= caller.stack_top + 2; ++slot) {
    const uint32_t offset = layout_.frame.locals + static_cast<uint32_t>(slot) * 8;
    if (offset + 8 > covered) break;
    if (value_at<uint64_t>(caller.bytes, offset) == wanted) return true;
  }
  return false;
}

ChainResult FrameChain::check() {
  for (size_t i = frames_.size(); i-- > 1;) {
    const Frame& caller = frames_[i];
    const Frame& callee = frames_[i - 1];
    if (!callee.is_entry && caller.stack_top < 0) {
      // It had not called, or the call was over: the rest was there before.
      frames_.erase(frames_.begin(), frames_.begin() + static_cast<ptrdiff_t>(i));
      return ChainResult::kGood;
    }
    if (!callee.is_entry && has_called(caller, callee)) continue;
    const bool stood_still = is_the_same(caller, true) && is_the_same(callee, false) &&
                             copy_.is_top_the_same() && marks_stood_still_;
    if (!stood_still) return ChainResult::kTorn;
  }
  follow_calls_since();
  return ChainResult::kGood;
}

// The innermost frame may have called further since it was asked for.
void FrameChain::follow_calls_since() {
  for (int i = 0; i < kMaxCallsSince && !frames_.empty(); ++i) {
    const Frame top = frames_.front();
    const uint32_t bytes = codes_.frame_bytes(top.code);
    if (top.stack_top < 0 || top.is_generator || bytes == 0) return;
    const auto next = frame_at(top.address + bytes);
    const bool is_called = next && !next->is_entry &&
                           value_at<uint64_t>(next->bytes, layout_.frame.previous) == top.address &&
                           has_called(top, *next);
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
                        const CodeTable& codes, bool is_paused, ThreadCopy& copy,
                        std::vector<StackFrame>& frames) {
  FrameChain chain(memory, layout, codes, copy);
  if (const ChainResult result = chain.walk(); result != ChainResult::kGood) return result;
  if (!is_paused) {
    if (const ChainResult result = chain.check(); result != ChainResult::kGood) return result;
  }
  chain.give(frames);
  return ChainResult::kGood;
}

}  // namespace stepscope::sample
