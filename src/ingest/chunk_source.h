// ChunkSource: cuts the list of events of a file into pieces of some hundred kilobytes, each of
// which very likely starts and ends between two events, so that they can be parsed apart and at the
// same time.
//
// "Very likely": a cut is made where text looks like the start of an event (find_event_start),
// which can be wrong inside a string or a nested list. Whoever reads the pieces checks: a piece
// that starts between two events and parses as whole events ends between two events, so the next
// one starts right. A piece that does not is read slowly, together with what follows
// (slow_reader.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ingest/byte_source.h"
#include "ingest/event_parser.h"

namespace stepscope {

// Text with room around it for a parser's brackets and padding.
struct Chunk {
  std::vector<char> buffer;
  size_t length = 0;
  uint64_t offset = 0;   // of the text in the (decompressed) file
  std::string gap;       // what stands between this chunk and the next: a comma and space
  bool is_tail = false;  // the rest of the file: the last events, the list's end, what follows

  char* text() { return buffer.data() + EventParser::kTextFront; }
  std::string_view view() const { return {buffer.data() + EventParser::kTextFront, length}; }
  void assign(std::string_view text);
  void reserve(size_t bytes);     // keeps the text
  void set_length(size_t bytes);  // within what was reserved
};

class ChunkSource {
 public:
  // `head` is what was read already, from the first event on; `offset` its place in the file;
  // `chunk_bytes` about the length of a piece, larger where an event is.
  ChunkSource(ByteSource& source, std::string head, uint64_t offset, size_t chunk_bytes);

  // False after the tail, or where reading failed (see status()).
  bool next(Chunk& chunk);
  const Status& status() const { return status_; }

 private:
  void gather(Chunk& chunk, size_t bytes);
  void give_back(std::string_view text);

  ByteSource& source_;
  size_t chunk_bytes_;
  // Read but not given out: from left_used_ on. Text goes from the file into a chunk's buffer at
  // once; only the part after its last event comes here.
  std::string left_;
  size_t left_used_ = 0;
  bool chunk_is_from_left_ = true;  // all of the chunk at hand
  uint64_t offset_;
  bool at_end_ = false;
  bool gave_tail_ = false;
  Status status_;
};

}  // namespace stepscope
