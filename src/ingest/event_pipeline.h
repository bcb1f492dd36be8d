// EventPipeline: parses the pieces of a ChunkSource on several threads and hands them out in the
// order of the file. A fixed number of pieces goes round: when all are full, the threads wait, so
// memory stays bounded however slow the taker is. With one thread nothing is started and the taker
// parses.
//
//   EventPipeline pipeline(chunks, 4);
//   while (EventPipeline::Piece* piece = pipeline.next()) { use(*piece); pipeline.give_back(piece);
//   }
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "ingest/chunk_source.h"
#include "ingest/event_batch.h"
#include "ingest/event_parser.h"

namespace stepscope {

class EventPipeline {
 public:
  struct Piece {
    Chunk chunk;
    EventBatch batch;
    bool is_whole = false;  // the chunk was read as whole events
  };

  EventPipeline(ChunkSource& source, int threads);
  ~EventPipeline();
  EventPipeline(const EventPipeline&) = delete;
  EventPipeline& operator=(const EventPipeline&) = delete;

  Piece* next();  // null at the end
  void give_back(Piece* piece);

 private:
  void work(EventParser& parser);
  static void parse(Piece& piece, EventParser& parser);

  ChunkSource& source_;
  std::vector<std::unique_ptr<EventParser>> parsers_;
  std::vector<std::unique_ptr<Piece>> pieces_;
  std::vector<std::thread> threads_;

  std::mutex source_mutex_;  // taken before mutex_
  std::mutex mutex_;
  std::condition_variable piece_is_free_;
  std::condition_variable piece_is_done_;
  std::vector<Piece*> free_;
  std::map<uint64_t, Piece*> done_;  // by number
  uint64_t next_number_ = 0;         // to be read; guarded by source_mutex_
  uint64_t next_wanted_ = 0;
  int working_ = 0;
  bool stopping_ = false;
};

}  // namespace stepscope
