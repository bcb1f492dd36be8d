#include "collect/python/call_writer.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "format/pool_layout.h"

namespace stepscope {
namespace {

using format::ExtendedRecord;
using format::RecordKind;

// Those that told of nothing yet may be asked from another thread.
struct Threads {
  std::mutex mutex;
  std::vector<std::atomic<uint64_t>*> left_out;
  uint64_t of_ended = 0;
};
Threads& threads() {
  static auto* const instance = new Threads;
  return *instance;
}

}  // namespace

uint64_t LongCalls::min_ticks_ = 0;

LongCalls::LongCalls() {
  const std::lock_guard lock(threads().mutex);
  threads().left_out.push_back(&left_out_);
}

LongCalls::~LongCalls() {
  const std::lock_guard lock(threads().mutex);
  threads().of_ended += left_out_.load();
  std::erase(threads().left_out, &left_out_);
}

LongCalls& LongCalls::of_thread() {
  thread_local std::unique_ptr<LongCalls> calls;
  if (calls == nullptr) calls.reset(new LongCalls);
  return *calls;
}

void LongCalls::write_begins() {
  for (; written_ < open_.size(); ++written_) {
    append_record_at(open_[written_].tick, RecordKind::kBegin, open_[written_].label);
  }
}

void LongCalls::write_open() { of_thread().write_begins(); }

void LongCalls::continue_in_child() {
  LongCalls& calls = of_thread();
  const uint64_t now = read_ticks();
  for (Open& open : calls.open_) open.tick = now;
  calls.written_ = 0;
  calls.write_begins();
}

void LongCalls::close(uint32_t label) {
  const uint64_t tick = read_ticks();
  // Begun before the tracer was.
  if (open_.empty()) return append_record_at(tick, RecordKind::kEnd, label + 1);
  const bool is_written = written_ == open_.size();
  if (!is_written && tick - open_.back().tick < min_ticks_) {
    open_.pop_back();
    return leave_out();
  }
  write_begins();
  append_record_at(tick, RecordKind::kEnd, open_.back().label + 1);
  open_.pop_back();
  written_ = open_.size();
}

void LongCalls::leave_out() {
  constexpr uint64_t kTellAfter = 4096;
  const uint64_t count = left_out_.load(std::memory_order_relaxed) + 1;
  if (count < kTellAfter) return left_out_.store(count, std::memory_order_relaxed);
  left_out_.store(0, std::memory_order_relaxed);
  append_record(RecordKind::kExtended,
                format::pack_extended(static_cast<uint32_t>(ExtendedRecord::kLeftOut), 1), &count,
                1);
}

uint64_t LongCalls::take_left_out() {
  const std::lock_guard lock(threads().mutex);
  uint64_t count = std::exchange(threads().of_ended, 0);
  for (std::atomic<uint64_t>* of_thread : threads().left_out) count += of_thread->exchange(0);
  return count;
}

}  // namespace stepscope
