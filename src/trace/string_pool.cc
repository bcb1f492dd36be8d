#include "trace/string_pool.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

#include "base/check.h"

namespace stepscope {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 18;
constexpr size_t kFirstSlots = 1024;

// Differs from run to run (address space randomisation), so that no file can be made whose strings
// all meet in one slot. Ids do not depend on it: they count up in order of first sight.
uint64_t hash_seed() {
  static const char anchor = 0;
  return reinterpret_cast<uintptr_t>(&anchor);
}

}  // namespace

uint64_t hash_bytes(std::string_view bytes) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), hash_seed());
}

StringPool::StringPool() : slots_(kFirstSlots) { intern(""); }

uint32_t StringPool::find_slot(std::string_view text, uint64_t hash) const {
  const uint32_t mask = static_cast<uint32_t>(slots_.size() - 1);
  const uint32_t tag = static_cast<uint32_t>(hash >> 32);
  uint32_t at = static_cast<uint32_t>(hash) & mask;
  while (slots_[at].id_plus_1 != 0) {
    if (slots_[at].hash == tag && views_[slots_[at].id_plus_1 - 1] == text) break;
    at = (at + 1) & mask;
  }
  return at;
}

StringId StringPool::intern(std::string_view text) { return intern(text, hash_bytes(text)); }

StringId StringPool::intern(std::string_view text, uint64_t hash) {
  uint32_t at = find_slot(text, hash);
  if (slots_[at].id_plus_1 == 0) {
    CHECK(views_.size() < UINT32_MAX - 1, "more strings than 32 bits can count");
    if ((views_.size() + 1) * 2 > slots_.size()) {
      grow();
      at = find_slot(text, hash);
    }
    views_.push_back(store(text));
    slots_[at] = {static_cast<uint32_t>(hash >> 32), static_cast<uint32_t>(views_.size())};
  }
  return StringId{slots_[at].id_plus_1 - 1};
}

std::optional<StringId> StringPool::find(std::string_view text) const {
  const Slot& slot = slots_[find_slot(text, hash_bytes(text))];
  if (slot.id_plus_1 == 0) return std::nullopt;
  return StringId{slot.id_plus_1 - 1};
}

std::string_view StringPool::store(std::string_view text) {
  if (text.empty()) return {};
  if (text.size() > chunk_size_ - chunk_used_) {
    chunk_size_ = text.size() > kChunkBytes / 4 ? text.size() : kChunkBytes;
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(chunk_size_));
    chunk_used_ = 0;
  }
  char* at = chunks_.back().get() + chunk_used_;
  std::memcpy(at, text.data(), text.size());
  chunk_used_ += text.size();
  bytes_ += text.size();
  return {at, text.size()};
}

void StringPool::grow() {
  std::vector<Slot> bigger(slots_.size() * 2);
  const uint32_t mask = static_cast<uint32_t>(bigger.size() - 1);
  for (uint32_t i = 0; i < views_.size(); ++i) {
    const uint64_t hash = hash_bytes(views_[i]);
    uint32_t at = static_cast<uint32_t>(hash) & mask;
    while (bigger[at].id_plus_1 != 0) at = (at + 1) & mask;
    bigger[at] = {static_cast<uint32_t>(hash >> 32), i + 1};
  }
  slots_ = std::move(bigger);
}

}  // namespace stepscope
