// ClockTable: from ticks of a recording's clock to ns, by the (ticks, monotonic, realtime) triples
// that a recorder writes now and then. Between two triples time is linear; outside of them the
// nearest two lead on, or ticks per second where there is only one.
//
//   ClockTable clock;
//   clock.add({ticks, monotonic_ns, realtime_ns});
//   clock.settle();
//   int64_t start_ns = clock.to_ns(tick);
#pragma once

#include <cstdint>
#include <vector>

namespace stepscope {

class ClockTable {
 public:
  struct Triple {
    uint64_t ticks = 0;
    int64_t monotonic_ns = 0;
    int64_t realtime_ns = 0;
  };

  void add(const Triple& triple) { triples_.push_back(triple); }
  void set_ticks_per_second(uint64_t rate) { ticks_per_second_ = rate; }
  // Call once after the last add(). Triples that contradict an earlier one are dropped.
  void settle();

  // Moves all times: for a recording whose monotonic clock is not the trace's.
  void shift_ns(int64_t ns) { shift_ns_ = ns; }

  bool empty() const { return triples_.empty(); }
  // On the monotonic clock; within TraceBuilder's limits whatever the triples say.
  int64_t to_ns(uint64_t tick) const;
  // Monotonic time (not shifted) + this is ns since 1970; 0 where nothing is known.
  int64_t realtime_base_ns() const;

 private:
  friend class ClockCursor;

  // Where time is linear around a tick: from `from` on, at this rate, for ticks in [first, end).
  struct Stretch {
    Triple from;
    double ns_per_tick = 0;
    uint64_t first = 0;
    uint64_t end = 0;
  };
  Stretch find_stretch(uint64_t tick) const;
  int64_t to_ns(const Stretch& stretch, uint64_t tick) const;

  std::vector<Triple> triples_;  // after settle(): by ticks, all different
  int64_t shift_ns_ = 0;
  uint64_t ticks_per_second_ = 1'000'000'000;
};

// ClockTable::to_ns() for ticks that mostly grow: looks for their stretch only when they leave it.
class ClockCursor {
 public:
  explicit ClockCursor(const ClockTable& clock) : clock_(clock) {}

  int64_t to_ns(uint64_t tick) {
    if (tick < stretch_.first || tick >= stretch_.end) stretch_ = clock_.find_stretch(tick);
    return clock_.to_ns(stretch_, tick);
  }

 private:
  const ClockTable& clock_;
  ClockTable::Stretch stretch_;
};

}  // namespace stepscope
