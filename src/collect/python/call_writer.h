// How a tracer writes the begin and the end of a call: at once, or only when the call has turned
// out to be long enough (--min-duration).
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "collect/recorder/thread_slot.h"

namespace stepscope {

struct EveryCall {
  static void begin(uint32_t label) { append_record(format::RecordKind::kBegin, label); }
  static void end(uint32_t label) { append_record(format::RecordKind::kEnd, label + 1); }
};

// Keeps begins until a call ends that took long enough; then writes it and all that it is in. What
// is left out is counted. A program that is killed loses the begins of short calls that were open.
class LongCalls {
 public:
  // Before the first call. 0: all are long enough.
  static void set_min_ticks(uint64_t ticks) { min_ticks_ = ticks; }

  static void begin(uint32_t label) { of_thread().open_.push_back({label, read_ticks()}); }
  static void end(uint32_t label) { of_thread().close(label); }

  // Before anything else is recorded on this thread, which would come before its callers otherwise.
  static void write_open();
  // What is open on this thread is open in a forked child as well, from now on.
  static void continue_in_child();
  // Calls that were left out and that no record tells of yet, of all threads; then they are told.
  static uint64_t take_left_out();

  ~LongCalls();

 private:
  struct Open {
    uint32_t label;
    uint64_t tick;
  };

  LongCalls();
  static LongCalls& of_thread();
  void close(uint32_t label);
  void write_begins();
  void leave_out();

  static uint64_t min_ticks_;

  std::vector<Open> open_;
  size_t written_ = 0;                 // of these
  std::atomic<uint64_t> left_out_{0};  // that no record tells of yet
};

}  // namespace stepscope
