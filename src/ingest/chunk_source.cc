#include "ingest/chunk_source.h"

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

ChunkSource::ChunkSource(ByteSource& source, std::string head, uint64_t offset)
    : source_(source), pending_(std::move(head)), offset_(offset) {}

bool ChunkSource::fill(size_t bytes) {
  const size_t before = pending_.size();
  pending_.resize(before + bytes);
  const Result<size_t> count = source_.read({pending_.data() + before, bytes});
  if (!count) status_ = count.status();
  pending_.resize(before + (count ? *count : 0));
  return count && *count > 0;
}

bool ChunkSource::next(Chunk& chunk) {
  if (gave_tail_) return false;
  size_t searched = 1;  // a cut at the very start would give an empty piece
  size_t wanted = kChunkBytes;
  while (true) {
    if (!at_end_ && pending_.size() < wanted) at_end_ = !fill(wanted - pending_.size());
    if (!status_.ok()) return false;
    const size_t start = find_last_event_start(pending_, searched);
    if (start != std::string::npos) {
      const size_t end = end_of_event_before(pending_, start);
      chunk.assign(std::string_view(pending_).substr(0, end));
      chunk.gap.assign(pending_, end, start - end);
      chunk.offset = offset_;
      chunk.is_tail = false;
      pending_.erase(0, start);
      offset_ += start;
      return true;
    }
    if (at_end_) break;
    // An event larger than a chunk, or no known writer's keys: look at more at once.
    searched = pending_.size() > 64 ? pending_.size() - 64 : 1;
    wanted = pending_.size() * 2 + kChunkBytes;
  }
  chunk.assign(pending_);
  chunk.gap.clear();
  chunk.offset = offset_;
  chunk.is_tail = true;
  pending_ = {};
  gave_tail_ = true;
  return true;
}

}  // namespace stepscope
