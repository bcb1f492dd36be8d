// ChunkStack: a set of chunk numbers that any number of threads put in and take out without a lock.
// The recorder has two: chunks that are free (the drain puts in, threads take one), and chunks that
// are full (threads put in, the drain takes all).
//
//   ChunkStack free_chunks(links);            // one link per chunk, shared by both stacks
//   free_chunks.push(7);
//   uint32_t chunk = free_chunks.pop();       // kNoChunk: none
//   for (uint32_t c = full.take_all(); c != kNoChunk; c = full.next(c)) ...
//
// A chunk is in one stack or in neither, so one link each suffices. The head carries a tag that
// changes with every change: a thread that was stopped in pop() while its chunk went round would
// else put a stale link into the head.
//
// Why the orders suffice: push() releases what its thread wrote into the chunk, and pop() and
// take_all() acquire it; a thread that pops a chunk that another one pushed below it synchronises
// with that push too, because every change of the head is a read-modify-write and so continues the
// release sequence. Links are atomic only because pop() may read one that is just being changed; it
// then fails at the head. chunk_stack_test.cc tries all interleavings of small cases.
#pragma once

#include <atomic>
#include <cstdint>

namespace stepscope {

inline constexpr uint32_t kNoChunk = UINT32_MAX;

// `Atomic` is std::atomic but in the test, which puts a scheduler into every access.
template <template <typename> class Atomic = std::atomic>
class ChunkStack {
 public:
  using Link = Atomic<uint32_t>;

  // Borrows the links.
  explicit ChunkStack(Link* links) : links_(links) {}

  void push(uint32_t chunk) {
    uint64_t head = head_.load(std::memory_order_relaxed);
    do {
      links_[chunk].store(chunk_of(head), std::memory_order_relaxed);
    } while (!head_.compare_exchange_weak(head, make_head(head, chunk), std::memory_order_release,
                                          std::memory_order_relaxed));
  }

  uint32_t pop() {
    uint64_t head = head_.load(std::memory_order_acquire);
    while (chunk_of(head) != kNoChunk) {
      const uint32_t below = links_[chunk_of(head)].load(std::memory_order_relaxed);
      if (head_.compare_exchange_weak(head, make_head(head, below), std::memory_order_acquire,
                                      std::memory_order_acquire)) {
        return chunk_of(head);
      }
    }
    return kNoChunk;
  }

  // Empties the stack; the result is the last one pushed, the others follow by next(). They may be
  // pushed again only after next() was asked.
  uint32_t take_all() {
    uint64_t head = head_.load(std::memory_order_acquire);
    while (!head_.compare_exchange_weak(head, make_head(head, kNoChunk), std::memory_order_acquire,
                                        std::memory_order_acquire)) {
    }
    return chunk_of(head);
  }
  uint32_t next(uint32_t chunk) const { return links_[chunk].load(std::memory_order_relaxed); }

 private:
  static constexpr uint64_t kEmpty = kNoChunk;

  static uint32_t chunk_of(uint64_t head) { return static_cast<uint32_t>(head); }
  static uint64_t make_head(uint64_t old, uint32_t chunk) {
    return ((old >> 32) + 1) << 32 | chunk;
  }

  Link* links_;
  Atomic<uint64_t> head_{kEmpty};
};

}  // namespace stepscope
