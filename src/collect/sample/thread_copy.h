// ThreadCopy: what a thread's stack is made of, copied twice with one system call: the thread's
// state, the piece of Python's stack that is in use, frames that lie elsewhere. Where they are is
// known from the last time; what has moved is learned and copied the next time. Two copies, because
// the thread goes on: frames that are the same in both stood still in between.
//
//   copy.append_pieces(pieces);  memory.read_all(pieces);
//   if (!copy.settle()) ...                          // something moved: once more
//   const uint8_t* frame = copy.find(address, size);
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collect/sample/python_process.h"

namespace stepscope::sample {

class ThreadCopy {
 public:
  explicit ThreadCopy(uint64_t thread_state) : state_(thread_state) {}

  uint64_t thread_state() const { return state_; }
  // What to read; the memory belongs to this object.
  void append_pieces(const PythonLayout& layout, std::vector<ProcessMemory::Piece>& pieces);
  // Takes notice of where things are now. False: not where they were looked for.
  bool settle(const PythonLayout& layout);
  // The piece with this number could not be read, and what it was of is not there any more.
  void forget_piece(const PythonLayout& layout, size_t number);
  // Nothing is known.
  void forget();

  // The thread's state, and a field of it, as copied first.
  std::span<const uint8_t> state(const PythonLayout& layout) const {
    return {copy_.data(), layout.thread.size};
  }
  template <typename T>
  T field(uint32_t offset) const;
  // The innermost frame, before the rest was copied; 0: none.
  uint64_t top_frame() const { return top_frame_; }
  // Whether C had called no further, and come back from no call, when all was copied.
  bool is_top_the_same() const { return is_top_the_same_; }

  // In the first copy; null where it is not covered. The second one is at the same place in it.
  const uint8_t* find(uint64_t address, uint32_t bytes) const;
  const uint8_t* find_again(const uint8_t* in_first) const { return in_first + copied_bytes_; }
  // How many bytes from `address` on are covered.
  uint64_t covered_after(uint64_t address) const;

  // Looks for the frame, and for those that called it, and has them copied the next time. False
  // where the memory can not be read.
  bool learn(const ProcessMemory& memory, const PythonLayout& layout, uint64_t frame);
  // What was not used by the last chain of frames for some time is no longer copied.
  void drop_unused();

 private:
  struct Area {
    uint64_t address = 0;
    uint32_t bytes = 0;
    uint32_t offset = 0;          // in the copy
    mutable uint32_t unused = 0;  // reads since it was needed
  };
  const Area* find_or_learn(const ProcessMemory& memory, const PythonLayout& layout, uint64_t frame,
                            std::span<const uint8_t> head);
  bool learn_chunk(const ProcessMemory& memory, uint64_t frame, uint32_t frame_bytes);
  void cover(uint64_t address, uint64_t bytes);

  uint64_t state_;
  uint64_t cframe_ = 0;  // where it was
  uint64_t chunk_ = 0;
  uint64_t top_frame_ = 0;
  bool is_top_the_same_ = false;
  std::vector<Area> areas_;    // chunks of Python's stack, and frames that lie elsewhere
  std::vector<uint8_t> copy_;  // state, cframe, areas, areas again, state's top, cframe
  uint32_t head_bytes_ = 0;
  uint32_t copied_bytes_ = 0;  // of the areas, once
};

}  // namespace stepscope::sample
