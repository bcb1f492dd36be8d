// SlowReader: events one by one, for text that the fast path could not take: the end of every file,
// pieces that were not cut between events, files that are damaged. It finds each event's end
// itself, mends what can be mended, skips what can not, counts both, and goes on with the next
// event.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ingest/chunk_source.h"
#include "ingest/event_assembler.h"
#include "ingest/event_parser.h"
#include "trace/stats.h"

namespace stepscope {

class SlowReader {
 public:
  SlowReader(uint32_t parser_number, EventAssembler& assembler, Stats& stats)
      : parser_(parser_number), assembler_(assembler), stats_(stats) {}

  // Goes on with the list of events. `offset` is the text's place in the file; is_last: no more
  // comes.
  void feed(std::string_view text, uint64_t offset, bool is_last);
  // Nothing is left over: the next piece starts between two events.
  bool is_between_events() const { return pending_.empty() && !list_ended_; }
  // The "]" of the list was read; rest() is the text after it.
  bool list_ended() const { return list_ended_; }
  const std::string& rest() const { return pending_; }
  uint64_t rest_offset() const { return offset_; }
  // Takes the text after the list: what follows is another list of events.
  void start_list() {
    pending_.clear();
    list_ended_ = false;
  }

 private:
  // An event that has no end within so many bytes is taken for damaged. The more of them a file
  // has, the sooner: the text that is searched in vain stays in proportion to the file.
  static constexpr size_t kMaxEventBytes = size_t{32} << 20;
  static constexpr size_t kMinEventBytes = size_t{4} << 10;
  static constexpr size_t kSearchPerGoodByte = 64;

  size_t max_event_bytes() const;
  size_t find_next(size_t after);
  bool try_parse(std::string_view event);
  void skip(size_t begin, std::string_view why);

  EventParser parser_;
  EventAssembler& assembler_;
  Stats& stats_;
  EventBatch batch_;
  Chunk chunk_;
  std::string pending_;
  uint64_t offset_ = 0;  // of pending_
  size_t search_left_ = 8 * kMaxEventBytes;
  size_t next_ = 0;  // what find_next() found last, in the feed at hand
  bool list_ended_ = false;
};

}  // namespace stepscope
