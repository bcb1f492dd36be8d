#include "ingest/chunk_source.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ingest/json_text.h"

namespace stepscope {

void Chunk::reserve(size_t bytes) {
  const size_t needed = EventParser::kTextFront + bytes + EventParser::kTextPadding;
  if (buffer.size() < needed) buffer.resize(needed);
}

void Chunk::set_length(size_t bytes) {
  length = bytes;
  std::memset(text() + length, 0, EventParser::kTextPadding);
}

void Chunk::assign(std::string_view text) {
  reserve(text.size());
  std::memcpy(this->text(), text.data(), text.size());
  set_length(text.size());
}

ChunkSource::ChunkSource(ByteSource& source, std::string head, uint64_t offset, size_t chunk_bytes)
    : source_(source),
      chunk_bytes_(std::max<size_t>(chunk_bytes, 1)),
      left_(std::move(head)),
      offset_(offset) {}

// Brings the chunk's text up to `bytes`, where the file has as many.
void ChunkSource::gather(Chunk& chunk, size_t bytes) {
  chunk.reserve(bytes);
  size_t length = chunk.length;
  const size_t from_left = std::min(bytes - length, left_.size() - left_used_);
  std::memcpy(chunk.text() + length, left_.data() + left_used_, from_left);
  left_used_ += from_left;
  length += from_left;
  if (length < bytes && !at_end_) {
    const Result<size_t> count = source_.read({chunk.text() + length, bytes - length});
    if (!count) status_ = count.status();
    const size_t from_file = count ? *count : 0;
    at_end_ = from_file < bytes - length;
    chunk_is_from_left_ &= from_file == 0;
    length += from_file;
  }
  chunk.length = length;
}

// The last part of the chunk at hand, for the next one.
void ChunkSource::give_back(std::string_view text) {
  if (chunk_is_from_left_) {
    left_used_ -= text.size();
  } else {
    left_.assign(text);
    left_used_ = 0;
  }
}

bool ChunkSource::next(Chunk& chunk) {
  if (gave_tail_) return false;
  size_t searched = 1;  // a cut at the very start would give an empty piece
  size_t wanted = chunk_bytes_;
  chunk.length = 0;
  chunk.offset = offset_;
  chunk_is_from_left_ = true;
  while (true) {
    gather(chunk, wanted);
    if (!status_.ok()) return false;
    const std::string_view text = chunk.view();
    const size_t start = find_last_event_start(text, searched);
    if (start != std::string_view::npos) {
      const size_t end = end_of_event_before(text, start);
      give_back(text.substr(start));
      offset_ += start;
      chunk.gap.assign(text.substr(end, start - end));
      chunk.is_tail = false;
      chunk.set_length(end);
      return true;
    }
    if (at_end_ && left_used_ == left_.size()) break;
    // An event larger than a chunk, or no known writer's keys: look at more at once. What was seen
    // may end in the middle of an event's first key.
    searched = text.size() > 64 ? text.size() - 64 : 1;
    wanted = text.size() * 2 + chunk_bytes_;
  }
  chunk.gap.clear();
  chunk.is_tail = true;
  chunk.set_length(chunk.length);
  gave_tail_ = true;
  return true;
}

}  // namespace stepscope
