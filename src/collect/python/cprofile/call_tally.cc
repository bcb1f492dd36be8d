#include "collect/python/cprofile/call_tally.h"

#include <algorithm>

namespace stepscope::cprofile {
namespace {

constexpr size_t kFirstSlots = 256;
constexpr size_t kFirstDepth = 256;

template <typename T, typename Hash>
void insert(std::vector<T*>& slots, T* value, Hash hash) {
  const size_t mask = slots.size() - 1;
  size_t at = hash(*value) & mask;
  while (slots[at] != nullptr) at = (at + 1) & mask;
  slots[at] = value;
}

// Makes room for one more than `values` has.
template <typename T, typename Hash>
void reserve(std::vector<T*>& slots, std::deque<T>& values, Hash hash) {
  if ((values.size() + 1) * 2 <= slots.size()) return;
  std::vector<T*> larger(std::max(kFirstSlots, slots.size() * 2));
  for (T& value : values) insert(larger, &value, hash);
  slots = std::move(larger);
}

}  // namespace

CallEntry& CallTally::add(const void* key, void* code) {
  const auto hash_of = [](const CallEntry& entry) { return hash(entry.key); };
  reserve(entry_slots_, entries_, hash_of);
  CallEntry& entry = entries_.emplace_back();
  entry.key = key;
  entry.code = code;
  insert(entry_slots_, &entry, hash_of);
  return entry;
}

CallEdge* CallTally::find_edge(const CallEntry& caller, const CallEntry& callee) const {
  if (edge_slots_.empty()) return nullptr;
  const size_t mask = edge_slots_.size() - 1;
  for (size_t at = hash(caller, callee) & mask;; at = (at + 1) & mask) {
    CallEdge* edge = edge_slots_[at];
    if (edge == nullptr || (edge->caller == &caller && edge->callee == &callee)) return edge;
  }
}

CallEdge& CallTally::find_or_add_edge(CallEntry& caller, CallEntry& callee) {
  CallEdge* edge = find_edge(caller, callee);
  if (edge == nullptr) {
    const auto hash_of = [](const CallEdge& it) { return hash(*it.caller, *it.callee); };
    reserve(edge_slots_, edges_, hash_of);
    edge = &edges_.emplace_back();
    edge->caller = &caller;
    edge->callee = &callee;
    insert(edge_slots_, edge, hash_of);
  }
  callee.last_edge = edge;
  return *edge;
}

void CallTally::grow() {
  const size_t capacity = std::max(kFirstDepth, capacity_ * 2);
  auto larger = std::make_unique<OpenCall[]>(capacity);
  std::copy_n(open_.get(), depth_, larger.get());
  open_ = std::move(larger);
  capacity_ = capacity;
}

}  // namespace stepscope::cprofile
