// Definitions: the ids of names. Strings, labels and tracks get theirs once, for as long as the
// process lives, so that a collector may keep them over several recordings and over a fork.
//
//   Definitions definitions;
//   uint32_t label = definitions.label("aten::mm", "cpu_op", kOperator);   // takes a lock: rare
//   definitions.attach(journals);              // a recording begins
//   definitions.write_new(writer, from, to);   // the drain: blocks of those that the file lacks
//
// An id is in the journal of the running recording before anyone can use it, so that records
// that outlive the program are never without their names. Where the journal has no room for a new
// one (thousands of them within one turn of the drain), the result is 0, the label of things
// without a name, and the caller asks again next time.
//
// The table only grows, and what it holds never moves: a forked child, in which another thread
// may have been stopped in the middle of an insertion, takes over what was complete.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/status.h"
#include "format/block_writer.h"
#include "format/pool_layout.h"

namespace stepscope {

// The two journals of a pool. Entries go into one until the drain has them written; then the other
// one's turn has come.
class Journals {
 public:
  Journals(format::JournalHeader* first, format::JournalHeader* second)
      : journals_{first, second} {}

  bool has_room(size_t bytes) const;
  void append(const format::JournalEntry& entry, std::string_view text);
  bool is_half_full() const;
  // Makes the other one current if it is empty; whether it was.
  bool turn();
  // Empties the one that is not current.
  void clear_other();

 private:
  format::JournalHeader& current() const { return *journals_[current_]; }

  std::array<format::JournalHeader*, format::kJournals> journals_;
  uint32_t current_ = 0;
};

class Definitions {
 public:
  Definitions();
  // What was complete in `parent` when this process was forked off. Leaves `parent` alone.
  explicit Definitions(const Definitions& parent);
  Definitions& operator=(const Definitions&) = delete;

  // 0: no room just now.
  uint32_t label(std::string_view name, std::string_view category, uint8_t kind);
  uint32_t counter(std::string_view name, std::string_view series, std::string_view unit);
  uint32_t string_id(std::string_view text);
  // A new track for each call.
  uint32_t thread(std::string_view name, int64_t tid);
  void rename_thread(uint32_t track, std::string_view name, int64_t tid);

  // From here on new definitions go into these journals too. Null: no recording. `wake` calls the
  // drain once a journal is half full; it is called with the lock held, and must not come back
  // here.
  void attach(Journals* journals, std::function<void()> wake = nullptr);
  bool wants_drain() const;

  // How many there are. Lets the journals take turns: after write_new() of all of these call
  // written().
  uint32_t begin_writing();
  void written();
  // Blocks of the definitions from..to, in the order in which they were made.
  Status write(format::BlockWriter& writer, uint32_t from, uint32_t to) const;

 private:
  struct Entry {
    format::JournalEntry header;
    const char* text = nullptr;
    std::string_view view() const { return {text, header.text_bytes}; }
  };
  struct Key {
    uint32_t name, category, third;  // third: kind of a label, unit of a counter
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return std::hash<uint64_t>()((uint64_t{key.name} << 32 | key.category) ^
                                   uint64_t{key.third} * 0x9E3779B97F4A7C15u);
    }
  };

  // All of these with the lock held.
  bool has_room_for(size_t strings, size_t text_bytes) const;
  uint32_t find_string(std::string_view text) const;  // kUnknown: there is none
  uint32_t string(std::string_view text);
  void add(format::JournalEntry entry, std::string_view text);
  void index(const Entry& entry);
  const Entry& at(uint32_t number) const;
  Entry& slot(uint32_t number);

  Status write_block(format::BlockWriter& writer, uint32_t from, uint32_t to) const;

  static constexpr uint32_t kUnknown = UINT32_MAX;
  // Block k holds kFirstBlock << k entries.
  static constexpr uint32_t kFirstBlock = 1024;
  static constexpr uint32_t kBlocks = 20;

  mutable std::mutex mutex_;
  Journals* journals_ = nullptr;
  std::function<void()> wake_;
  std::array<std::unique_ptr<Entry[]>, kBlocks> blocks_;
  std::deque<std::string> texts_;
  std::atomic<uint32_t> count_{0};
  bool has_turned_ = false;
  uint32_t labels_ = 0;
  uint32_t tracks_ = 1;  // 0: not defined
  std::unordered_map<std::string_view, uint32_t> strings_;
  std::unordered_map<Key, uint32_t, KeyHash> label_ids_;
  std::unordered_map<Key, uint32_t, KeyHash> counter_ids_;
};

}  // namespace stepscope
