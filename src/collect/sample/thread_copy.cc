#include "collect/sample/thread_copy.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "collect/sample/value_at.h"

namespace stepscope::sample {
namespace {

constexpr uint32_t kChunkHead = 24;  // previous, size, top
constexpr uint64_t kMaxChunkBytes = uint64_t{1} << 24;
constexpr int kMaxChunks = 8192;
constexpr uint64_t kSlack = 512;      // beyond the innermost frame: it may call
constexpr uint32_t kSlotsAside = 40;  // of frames that do not lie on Python's stack
constexpr int kMaxLearned = 4096;     // frames aside, for one chain
constexpr uint32_t kMaxUnused = 16;
constexpr uint64_t kUserSpaceEnd = uint64_t{1} << 56;

}  // namespace

template <typename T>
T ThreadCopy::field(uint32_t offset) const {
  return value_at<T>(copy_.data() + offset);
}
template uint64_t ThreadCopy::field<uint64_t>(uint32_t) const;

void ThreadCopy::append_pieces(const PythonLayout& layout,
                               std::vector<ProcessMemory::Piece>& pieces) {
  const bool has_cframe = layout.top == PythonLayout::Top::kCFrame;
  head_bytes_ = layout.thread.size + (has_cframe ? layout.cframe.size : 0);
  copied_bytes_ = 0;
  for (Area& area : areas_) {
    area.offset = head_bytes_ + copied_bytes_;
    copied_bytes_ += area.bytes;
  }
  const uint32_t tail = head_bytes_ + 2 * copied_bytes_;
  copy_.resize(tail + sizeof(uint64_t) + layout.cframe.size);
  const uint64_t cframe = cframe_ != 0 ? cframe_ : state_;  // of a thread without Python: unused
  pieces.push_back({state_, layout.thread.size, copy_.data()});
  if (has_cframe) {
    pieces.push_back({cframe, layout.cframe.size, copy_.data() + layout.thread.size});
  }
  for (const uint32_t again : {0u, copied_bytes_}) {
    for (const Area& area : areas_) {
      pieces.push_back({area.address, area.bytes, copy_.data() + area.offset + again});
    }
  }
  pieces.push_back({state_ + layout.thread.top, sizeof(uint64_t), copy_.data() + tail});
  if (has_cframe) {
    pieces.push_back({cframe, layout.cframe.size, copy_.data() + tail + sizeof(uint64_t)});
  }
}

bool ThreadCopy::settle(const PythonLayout& layout) {
  const auto top = field<uint64_t>(layout.thread.top);
  const auto chunk = layout.thread.datastack_chunk != kNowhere
                         ? field<uint64_t>(layout.thread.datastack_chunk)
                         : 0;
  const uint8_t* tail = copy_.data() + head_bytes_ + 2 * copied_bytes_;
  bool is_settled = true;
  if (layout.top == PythonLayout::Top::kCFrame) {
    is_settled = top == cframe_ || top == 0;
    cframe_ = top;
    top_frame_ = top == 0 ? 0 : field<uint64_t>(layout.thread.size + layout.cframe.current_frame);
  } else {
    top_frame_ = top;
  }
  // Of 3.13, a frame in the thread's state changes with every call, and the frames themselves tell
  // more (frame_chain.h); of 3.8 to 3.10 it is all that there is.
  is_top_the_same_ =
      layout.top == PythonLayout::Top::kCurrentFrame || value_at<uint64_t>(tail) == top;
  chunk_ = chunk;
  return is_settled;
}

// Parts of Python's stack come and go as it grows and shrinks; the others are as good as before.
void ThreadCopy::forget_piece(const PythonLayout& layout, size_t number) {
  const size_t heads = layout.top == PythonLayout::Top::kCFrame ? 2 : 1;
  if (number < heads || number >= heads + 2 * areas_.size()) return forget();
  areas_.erase(areas_.begin() + static_cast<ptrdiff_t>((number - heads) % areas_.size()));
}

void ThreadCopy::forget() {
  cframe_ = 0;
  chunk_ = 0;
  areas_.clear();
}

const uint8_t* ThreadCopy::find(uint64_t address, uint32_t bytes) const {
  for (const Area& area : areas_) {
    if (address < area.address || address - area.address + bytes > area.bytes) continue;
    area.unused = 0;
    return copy_.data() + area.offset + (address - area.address);
  }
  return nullptr;
}

uint64_t ThreadCopy::covered_after(uint64_t address) const {
  for (const Area& area : areas_) {
    if (address >= area.address && address < area.address + area.bytes) {
      return area.address + area.bytes - address;
    }
  }
  return 0;
}

bool ThreadCopy::learn(const ProcessMemory& memory, const PythonLayout& layout, uint64_t frame) {
  std::vector<uint8_t> own_head(layout.frame.size);
  std::vector<uint8_t> part;  // of Python's stack, which many frames lie in
  uint64_t part_address = 0;
  for (int i = 0; i < kMaxLearned && frame != 0; ++i) {
    if (frame >= kUserSpaceEnd) return i > 0;
    const uint8_t* head = own_head.data();
    if (frame >= part_address && frame - part_address + layout.frame.size <= part.size()) {
      head = part.data() + (frame - part_address);
    } else if (!memory.read(frame, own_head)) {
      return i > 0;
    } else if (const Area* area = find_or_learn(memory, layout, frame, own_head)) {
      part.resize(area->bytes);
      part_address = area->address;
      if (!memory.read(part_address, part)) part.clear();
    }
    frame = value_at<uint64_t>(head + layout.frame.previous);
  }
  return true;
}

// The area that a frame is in; its own one where it does not lie on Python's stack.
const ThreadCopy::Area* ThreadCopy::find_or_learn(const ProcessMemory& memory,
                                                  const PythonLayout& layout, uint64_t frame,
                                                  std::span<const uint8_t> head) {
  const auto find_area = [&]() -> const Area* {
    const auto found = std::find_if(areas_.begin(), areas_.end(), [&](const Area& area) {
      return frame >= area.address && frame - area.address + layout.frame.size <= area.bytes;
    });
    return found == areas_.end() ? nullptr : &*found;
  };
  const Area* known = find_area();
  if (known != nullptr) return known;
  if (!learn_chunk(memory, frame, layout.frame.size)) {
    const bool has_slots =
        layout.frame.stack_top != kNowhere && head[layout.frame.owner] == kOwnedByGenerator;
    if (has_slots) {  // a generator's, with its state before it
      const uint32_t before = layout.generator.iframe - layout.generator.frame_state;
      cover(frame - before, before + layout.frame.size + kSlotsAside * sizeof(uint64_t));
    } else {
      cover(frame, layout.frame.size);
    }
  }
  return find_area();
}

// Where the frame lies in one of the chunks of Python's stack, the part of it that is in use.
bool ThreadCopy::learn_chunk(const ProcessMemory& memory, uint64_t frame, uint32_t frame_bytes) {
  uint64_t address = chunk_;
  for (int i = 0; i < kMaxChunks && address != 0; ++i) {
    std::array<uint64_t, 3> head;
    if (!memory.read(address, head)) return false;
    const uint64_t bytes = std::min(head[1], kMaxChunkBytes);
    if (frame >= address && frame < address + bytes) {
      const bool is_newest = address == chunk_;
      const uint64_t used = is_newest ? frame - address + frame_bytes + kSlack
                                      : kChunkHead + head[2] * sizeof(uint64_t);
      cover(address, std::min(std::max(used, frame - address + frame_bytes), bytes));
      return true;
    }
    address = head[0];
  }
  return false;
}

void ThreadCopy::cover(uint64_t address, uint64_t bytes) {
  for (Area& area : areas_) {
    if (area.address != address) continue;
    area.bytes = std::max(area.bytes, static_cast<uint32_t>(bytes));
    return;
  }
  areas_.push_back({.address = address, .bytes = static_cast<uint32_t>(bytes)});
}

void ThreadCopy::drop_unused() {
  std::erase_if(areas_, [](Area& area) { return ++area.unused > kMaxUnused; });
}

}  // namespace stepscope::sample
