#include "ingest/chunk_source.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ingest/json_text.h"

namespace stepscope {

void Chunk::assign(std::string_view text) {
  const size_t needed = EventParser::kTextFront + text.size() + EventParser::kTextPadding;
  if (buffer.size() < needed) buffer.resize(needed + needed / 8);
  std::memcpy(this->text(), text.data(), text.size());
  std::memset(this->text() + text.size(), 0, EventParser::kTextPadding);
  length = text.size();
}

ChunkSource::ChunkSource(ByteSource& source, std::string head, uint64_t offset, size_t chunk_bytes)
    : source_(source),
      chunk_bytes_(std::max<size_t>(chunk_bytes, 1)),
      pending_(std::move(head)),
      offset_(offset) {}

bool ChunkSource::fill(size_t bytes) {
  const size_t before = pending_.size();
  pending_.resize(before + bytes);
  const Result<size_t> count = source_.read({pending_.data() + before, bytes});
  if (!count) status_ = count.status();
  pending_.resize(before + (count ? *count : 0));
  return count && *count > 0;
}

void ChunkSource::consume(size_t bytes) {
  used_ += bytes;
  offset_ += bytes;
  // Moving what is left costs no more than having read what is dropped.
  if (used_ < pending_.size() - used_) return;
  pending_.erase(0, used_);
  used_ = 0;
}

bool ChunkSource::next(Chunk& chunk) {
  if (gave_tail_) return false;
  size_t searched = 1;  // a cut at the very start would give an empty piece
  size_t wanted = chunk_bytes_;
  while (true) {
    const size_t left = pending_.size() - used_;
    if (!at_end_ && left < wanted) at_end_ = !fill(wanted - left);
    if (!status_.ok()) return false;
    const std::string_view text = std::string_view(pending_).substr(used_);
    const std::string_view window = text.substr(0, wanted);
    const size_t start = find_last_event_start(window, searched);
    if (start != std::string::npos) {
      const size_t end = end_of_event_before(window, start);
      chunk.assign(window.substr(0, end));
      chunk.gap.assign(window.substr(end, start - end));
      chunk.offset = offset_;
      chunk.is_tail = false;
      consume(start);
      return true;
    }
    if (at_end_ && window.size() == text.size()) break;
    // An event larger than a chunk, or no known writer's keys: look at more at once. What was seen
    // may end in the middle of an event's first key.
    searched = window.size() > 64 ? window.size() - 64 : 1;
    wanted = window.size() * 2 + chunk_bytes_;
  }
  chunk.assign(std::string_view(pending_).substr(used_));
  chunk.gap.clear();
  chunk.offset = offset_;
  chunk.is_tail = true;
  pending_ = {};
  used_ = 0;
  gave_tail_ = true;
  return true;
}

}  // namespace stepscope
