// EventParser: chunks of Chrome trace-event JSON to EventBatches. One per thread; it
// remembers the strings, labels, threads and keys that it saw, so that most of what it meets again
// costs a comparison. The text of a chunk is whole events with commas between them and no brackets
// around; it must have kTextFront writable bytes before it and kTextPadding after it.
//
//   EventParser parser(0);
//   if (!parser.parse(text, length, batch)) { /* damaged, or not cut between events: read it slowly
//   */ }
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "ingest/event_batch.h"

namespace stepscope {

class EventParser {
 public:
  static constexpr size_t kTextFront = 1;
  static constexpr size_t kTextPadding = 128;

  explicit EventParser(uint32_t number);
  ~EventParser();
  EventParser(const EventParser&) = delete;
  EventParser& operator=(const EventParser&) = delete;

  // Fills the batch (which it clears first). Writes brackets around the text, and puts back what
  // stood there. False: the text is not a list of whole events, and the batch's events are not to
  // be used (its new strings, labels, threads and columns are).
  bool parse(char* text, size_t length, EventBatch& batch);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stepscope
