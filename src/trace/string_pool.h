// Every string of a trace, once. Interning gives the same id for the same bytes; views stay valid
// as long as the pool lives (strings are kept in chunks that never move).
//
//   StringPool pool;
//   StringId conv = pool.intern("aten::conv2d");
//   pool.view(conv);            // "aten::conv2d"
//   pool.find("aten::relu");    // nullopt
//
// Slow equivalent: std::unordered_map<std::string, uint32_t> and a std::vector<std::string>. One
// writer at a time; any number of readers of what was interned before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "trace/ids.h"

namespace stepscope {

uint64_t hash_bytes(std::string_view bytes);

class StringPool {
 public:
  StringPool();
  StringPool(StringPool&&) = default;
  StringPool& operator=(StringPool&&) = default;
  StringPool(const StringPool&) = delete;
  StringPool& operator=(const StringPool&) = delete;

  StringId intern(std::string_view text);
  StringId intern(std::string_view text, uint64_t hash);
  std::optional<StringId> find(std::string_view text) const;

  std::string_view view(StringId id) const { return views_[index(id)]; }
  uint32_t size() const { return static_cast<uint32_t>(views_.size()); }
  size_t bytes() const { return bytes_; }  // of text, without the index

 private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t id_plus_1 = 0;  // 0: free
  };

  uint32_t find_slot(std::string_view text, uint64_t hash) const;
  std::string_view store(std::string_view text);
  void grow();

  std::vector<std::string_view> views_;
  std::vector<Slot> slots_;  // open addressing, a power of two
  std::vector<std::unique_ptr<char[]>> chunks_;
  size_t chunk_used_ = 0;
  size_t chunk_size_ = 0;
  size_t bytes_ = 0;
};

}  // namespace stepscope
