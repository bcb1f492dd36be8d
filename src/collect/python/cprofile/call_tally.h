// CallTally: what cProfile keeps, and nothing more: for every function its calls and times, for
// every pair of caller and callee the same, and the calls that are open now.
//
// It knows functions by an address and reads no clock. One thread at a time (the GIL). A call
// costs no allocation once its function, its caller and its depth have been seen.
//
//   CallEntry* entry = tally.find(key);
//   tally.open(*entry, true);
//   tally.top().start_ticks = read_ticks();
//   ...
//   tally.close(*tally.top().entry, read_ticks(), true);
//
// The slow equivalent: std::map<key, CallEntry>, std::map<pair<caller, callee>, CallEdge> and a
// std::vector of open calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace stepscope::cprofile {

// Ticks wrap as unsigned numbers do: a timer may return anything.
struct CallTotals {
  uint64_t total_ticks = 0;  // of calls that were not inside another of the same function
  uint64_t self_ticks = 0;
  int64_t calls = 0;
  int64_t recursive_calls = 0;
  int64_t level = 0;  // how many are open

  void close(uint64_t total, uint64_t self) {
    if (--level == 0) {
      total_ticks += total;
    } else {
      ++recursive_calls;
    }
    self_ticks += self;
    ++calls;
  }
};

struct CallEdge;

struct CallEntry : CallTotals {
  const void* key = nullptr;
  void* code = nullptr;           // whatever the user of the table means by it
  CallEdge* last_edge = nullptr;  // to the caller that it had last: mostly the next one too
};

struct CallEdge : CallTotals {
  CallEntry* caller = nullptr;
  CallEntry* callee = nullptr;
};

struct OpenCall {
  CallEntry* entry;
  CallEdge* edge;  // null: without a caller, or edges are not kept
  uint64_t start_ticks;
  uint64_t child_ticks;
};

class CallTally {
 public:
  CallTally() = default;
  CallTally(CallTally&&) = default;
  CallTally& operator=(CallTally&&) = default;

  // Null: never seen.
  CallEntry* find(const void* key) const {
    if (entry_slots_.empty()) [[unlikely]] {
      return nullptr;
    }
    const size_t mask = entry_slots_.size() - 1;
    for (size_t at = hash(key) & mask;; at = (at + 1) & mask) {
      CallEntry* entry = entry_slots_[at];
      if (entry == nullptr || entry->key == key) return entry;
    }
  }

  // For a key that find() does not know. Throws std::bad_alloc, and is as before.
  CallEntry& add(const void* key, void* code);

  // Opens a call inside the top one; its start_ticks are the caller's to fill in. Throws
  // std::bad_alloc, and is as before.
  void open(CallEntry& entry, bool with_edge) {
    CallEdge* edge = nullptr;
    if (with_edge && depth_ > 0) {
      CallEntry& caller = *top().entry;
      edge = entry.last_edge;
      if (edge == nullptr || edge->caller != &caller) [[unlikely]] {
        edge = &find_or_add_edge(caller, entry);
      }
    }
    if (depth_ == capacity_) [[unlikely]] {
      grow();
    }
    if (edge != nullptr) ++edge->level;
    ++entry.level;
    open_[depth_++] = {&entry, edge, 0, 0};
  }

  // Closes the top call as one of `entry`, which is not its own where begins and ends do not match.
  void close(CallEntry& entry, uint64_t now_ticks, bool with_edge) {
    const OpenCall call = open_[--depth_];
    const uint64_t total = now_ticks - call.start_ticks;
    const uint64_t self = total - call.child_ticks;
    entry.close(total, self);
    if (depth_ == 0) return;
    top().child_ticks += total;
    if (!with_edge) return;
    CallEdge* edge = call.edge;
    if (edge == nullptr || call.entry != &entry) [[unlikely]] {
      edge = find_edge(*top().entry, entry);
    }
    if (edge != nullptr) edge->close(total, self);
  }

  // The top call ends unseen.
  void drop_top() { --depth_; }

  size_t depth() const { return depth_; }
  OpenCall& top() { return open_[depth_ - 1]; }
  OpenCall& open_call(size_t index) { return open_[index]; }

  // In the order in which they were first seen.
  const std::deque<CallEntry>& entries() const { return entries_; }
  const std::deque<CallEdge>& edges() const { return edges_; }

 private:
  static size_t hash(const void* key) {
    return (reinterpret_cast<uintptr_t>(key) * 0x9E3779B97F4A7C15u) >> 32;
  }
  static size_t hash(const CallEntry& caller, const CallEntry& callee) {
    const uintptr_t mixed = reinterpret_cast<uintptr_t>(&caller) * 3;
    return hash(reinterpret_cast<const void*>(mixed ^ reinterpret_cast<uintptr_t>(&callee)));
  }

  CallEdge* find_edge(const CallEntry& caller, const CallEntry& callee) const;
  CallEdge& find_or_add_edge(CallEntry& caller, CallEntry& callee);
  void grow();

  std::unique_ptr<OpenCall[]> open_;
  size_t depth_ = 0;
  size_t capacity_ = 0;
  // Open addressing, at most half full, a power of two in size.
  std::vector<CallEntry*> entry_slots_;
  std::vector<CallEdge*> edge_slots_;
  // Deques: entries and edges never move.
  std::deque<CallEntry> entries_;
  std::deque<CallEdge> edges_;
};

}  // namespace stepscope::cprofile
