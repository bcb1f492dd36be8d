#include "ingest/event_pipeline.h"

namespace stepscope {

EventPipeline::EventPipeline(ChunkSource& source, int threads) : source_(source) {
  for (int i = 0; i < threads; ++i) {
    parsers_.push_back(std::make_unique<EventParser>(static_cast<uint32_t>(i)));
  }
  const int piece_count = threads == 1 ? 1 : 2 * threads + 1;
  for (int i = 0; i < piece_count; ++i) {
    pieces_.push_back(std::make_unique<Piece>());
    free_.push_back(pieces_.back().get());
  }
  if (threads == 1) return;
  working_ = threads;
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this, i] { work(*parsers_[static_cast<size_t>(i)]); });
  }
}

EventPipeline::~EventPipeline() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  piece_is_free_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void EventPipeline::parse(Piece& piece, EventParser& parser) {
  if (piece.chunk.is_tail) {
    piece.is_whole = false;
    piece.batch.clear();
  } else {
    piece.is_whole = parser.parse(piece.chunk.text(), piece.chunk.length, piece.batch);
  }
}

void EventPipeline::work(EventParser& parser) {
  while (true) {
    Piece* piece = nullptr;
    {
      std::unique_lock lock(mutex_);
      piece_is_free_.wait(lock, [&] { return stopping_ || !free_.empty(); });
      if (stopping_) break;
      piece = free_.back();
      free_.pop_back();
    }
    // Numbers are given in the order of the file. A thread that has a piece never waits for another
    // piece, so every number that is given out is delivered.
    uint64_t number = 0;
    bool has_text = false;
    {
      const std::lock_guard lock(source_mutex_);
      has_text = source_.next(piece->chunk);
      if (has_text) number = next_number_++;
    }
    if (!has_text) {
      give_back(piece);
      break;
    }
    parse(*piece, parser);
    {
      const std::lock_guard lock(mutex_);
      done_.emplace(number, piece);
    }
    piece_is_done_.notify_one();
  }
  {
    const std::lock_guard lock(mutex_);
    --working_;
  }
  piece_is_done_.notify_one();
}

EventPipeline::Piece* EventPipeline::next() {
  if (threads_.empty()) {
    Piece* piece = free_.back();
    if (!source_.next(piece->chunk)) return nullptr;
    free_.pop_back();
    parse(*piece, *parsers_[0]);
    return piece;
  }
  std::unique_lock lock(mutex_);
  piece_is_done_.wait(lock, [&] {
    return working_ == 0 || (!done_.empty() && done_.begin()->first == next_wanted_);
  });
  if (done_.empty()) return nullptr;
  Piece* piece = done_.begin()->second;
  done_.erase(done_.begin());
  ++next_wanted_;
  return piece;
}

void EventPipeline::give_back(Piece* piece) {
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(piece);
  }
  piece_is_free_.notify_one();
}

}  // namespace stepscope
