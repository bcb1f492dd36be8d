#include "ingest/slow_reader.h"

#include <algorithm>

#include "ingest/json_text.h"

namespace stepscope {
namespace {

constexpr size_t npos = std::string_view::npos;

std::string_view fault_of(std::string_view event) {
  bool in_string = false;
  for (size_t at = 0; at < event.size(); ++at) {
    const unsigned char c = static_cast<unsigned char>(event[at]);
    if (in_string && c == '\\') {
      ++at;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (in_string && c < 0x20) {
      return "control character in a string";
    }
  }
  return "not valid JSON";
}

}  // namespace

size_t SlowReader::max_event_bytes() const {
  return std::clamp(search_left_, kMinEventBytes, kMaxEventBytes);
}

// The first likely event after a position that grows from call to call. The whole text is searched
// once, however many events have none after them.
size_t SlowReader::find_next(size_t after) {
  if (next_ <= after) next_ = find_event_start(pending_, after + 1);
  return next_;
}

void SlowReader::feed(std::string_view text, uint64_t offset, bool is_last) {
  if (pending_.empty()) offset_ = offset;
  pending_ += text;
  next_ = 0;
  size_t at = 0;
  while (!list_ended_) {
    at = skip_space(pending_, at);
    while (at < pending_.size() && pending_[at] == ',') at = skip_space(pending_, at + 1);
    if (at == pending_.size()) break;
    if (pending_[at] == ']') {
      list_ended_ = true;
      ++at;
      break;
    }
    const std::string_view view = pending_;
    const size_t searched = std::min(view.size(), at + max_event_bytes());
    size_t end = find_value_end(view.substr(0, searched), at);
    if (end == npos) {
      // Cut short, or a quote too many: what looks like the next event decides.
      const bool has_no_end = is_last || searched < view.size();
      const size_t next = has_no_end ? find_next(at) : npos;
      if (next != npos) {
        search_left_ -= std::min(search_left_, searched - at);
        skip(at, "no end of the event");
        at = next;
        continue;
      }
      if (searched < view.size()) end = find_value_end(view, at);  // a very large one
    }
    if (end == npos) {
      if (is_last) {
        stats_.add(Stat::kBytesTruncated, pending_.size() - at);
        stats_.note("byte " + std::to_string(offset_ + at) + ": the file ends inside an event; " +
                    std::to_string(pending_.size() - at) + " bytes were not used");
        at = pending_.size();
      }
      break;
    }
    const std::string_view event = view.substr(at, end - at);
    if (event.empty()) {  // a stray bracket
      skip(at, "not an event");
      ++at;
      continue;
    }
    if (try_parse(event)) {
      search_left_ += event.size() * kSearchPerGoodByte;
      at = end;
      continue;
    }
    const std::string mended = mend_text(event);
    if (mended != event && try_parse(mended)) {
      stats_.add(Stat::kEventsMended);
      stats_.note("byte " + std::to_string(offset_ + at) + ": " + std::string(fault_of(event)) +
                  "; event mended (" + std::to_string(stats_.get(Stat::kEventsMended)) +
                  " so far)");
      at = end;
      continue;
    }
    // Where another event seems to begin inside, a quote is missing: only skip up to there.
    const size_t next = find_next(at);
    skip(at, fault_of(event));
    search_left_ -= std::min(search_left_, event.size());
    at = std::min(next, end);
  }
  offset_ += at;
  pending_.erase(0, at);
}

bool SlowReader::try_parse(std::string_view event) {
  chunk_.assign(event);
  const bool good = parser_.parse(chunk_.text(), chunk_.length, batch_);
  if (good) {
    assembler_.add(batch_);
  } else {
    assembler_.add_names(batch_);
  }
  return good;
}

void SlowReader::skip(size_t begin, std::string_view why) {
  stats_.add(Stat::kEventsRead);
  stats_.add(Stat::kEventsSkipped);
  stats_.note("byte " + std::to_string(offset_ + begin) + ": " + std::string(why) +
              "; event skipped (" + std::to_string(stats_.get(Stat::kEventsSkipped)) + " so far)");
}

}  // namespace stepscope
