// TileCache: tiles that were made, the last used ones up to so many bytes. Tiles of a run that was
// read again are others: the version is part of the key. Any thread may use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

namespace stepscope::serve {

class TileCache {
 public:
  // Run, version, track, level, index.
  using Key = std::tuple<size_t, uint64_t, uint32_t, uint32_t, uint64_t>;

  explicit TileCache(size_t max_bytes) : max_bytes_(max_bytes) {}

  std::shared_ptr<const std::string> find(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto it = places_.find(key);
    if (it == places_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, it->second);
    return it->second->second;
  }

  // One that would take more than a quarter of the cache is not kept.
  void add(const Key& key, std::shared_ptr<const std::string> tile) {
    const size_t bytes = cost(*tile);
    if (bytes > max_bytes_ / 4) return;
    const std::lock_guard lock(mutex_);
    if (places_.contains(key)) return;
    entries_.emplace_front(key, std::move(tile));
    places_[key] = entries_.begin();
    bytes_ += bytes;
    while (bytes_ > max_bytes_) {
      bytes_ -= cost(*entries_.back().second);
      places_.erase(entries_.back().first);
      entries_.pop_back();
    }
  }

  size_t bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  using Entries = std::list<std::pair<Key, std::shared_ptr<const std::string>>>;

  static size_t cost(const std::string& tile) {
    constexpr size_t kPerEntry = 256;  // of list, map and string
    return tile.capacity() + kPerEntry;
  }

  const size_t max_bytes_;
  mutable std::mutex mutex_;
  Entries entries_;  // the last used first
  std::map<Key, Entries::iterator> places_;
  size_t bytes_ = 0;
};

}  // namespace stepscope::serve
