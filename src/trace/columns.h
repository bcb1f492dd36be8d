// The columns of a trace, as plain data. All are immutable once the trace is built; every analysis
// reads them through spans. Row numbers are SliceIds where nothing else is said.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "format/schema.h"
#include "trace/ids.h"

namespace stepscope {

// A duration takes 4 bytes; the rare one of 4.29 s or more is kept aside, by row.
class DurationColumn {
 public:
  static constexpr uint32_t kLong = UINT32_MAX;

  void reserve(size_t rows) { short_ns_.reserve(rows); }
  void reserve_to_fill(size_t rows);  // see prefault.h
  void shrink_to_fit() { short_ns_.shrink_to_fit(); }
  void push_back(int64_t dur_ns) {
    if (dur_ns < kLong) {
      short_ns_.push_back(static_cast<uint32_t>(dur_ns));
    } else {
      long_ns_.emplace_back(static_cast<uint32_t>(short_ns_.size()), dur_ns);
      short_ns_.push_back(kLong);
    }
  }
  // Changes a row, in any order of rows. Call settle() once after the last change.
  void set(uint32_t row, int64_t dur_ns);
  void settle();
  // Appends values that are already in this form (rows of `longs` count from the first of
  // `shorts`).
  void append(std::span<const uint32_t> shorts,
              std::span<const std::pair<uint32_t, int64_t>> longs);

  int64_t operator[](size_t row) const {
    const uint32_t value = short_ns_[row];
    return value != kLong ? int64_t{value} : find_long(static_cast<uint32_t>(row));
  }
  size_t size() const { return short_ns_.size(); }
  std::span<const uint32_t> shorts() const { return short_ns_; }
  std::span<const std::pair<uint32_t, int64_t>> longs() const { return long_ns_; }

 private:
  int64_t find_long(uint32_t row) const;

  std::vector<uint32_t> short_ns_;
  std::vector<std::pair<uint32_t, int64_t>> long_ns_;  // sorted by row
  // Set since the last settle(). Apart, because a place in the middle of long_ns_ would cost a move
  // of all behind it for each of a million unclosed begins.
  std::unordered_map<uint32_t, int64_t> set_ns_;
};

// Slices, track after track; within a track by start, longer first, so that a slice comes after the
// slice that holds it (pre-order). 22 bytes each. A slice is inside another when it starts in it
// and does not end after it; one that overlaps in part is a sibling and is counted in the stats.
// Self time is a duration less the durations of the direct children: see nesting.h.
struct SliceColumns {
  std::vector<int64_t> start_ns;
  DurationColumn dur_ns;
  std::vector<LabelId> label;
  std::vector<SliceId> parent;  // kNoSlice at the top of a track
  std::vector<uint16_t> depth;  // 0 at the top; stays at 65535 below that

  uint32_t size() const { return static_cast<uint32_t>(start_ns.size()); }
  int64_t end_ns(size_t row) const { return start_ns[row] + dur_ns[row]; }
};

// Integers in 4 bytes each as long as all fit, else in 8.
class IntColumn {
 public:
  void push_back(int64_t value) {
    if (value != static_cast<int32_t>(value)) widen();
    if (wide_) {
      wide_values_.push_back(value);
    } else {
      narrow_values_.push_back(static_cast<int32_t>(value));
    }
  }
  void append(std::span<const int32_t> values);
  void append(std::span<const int64_t> values);
  void reserve_to_fill(size_t rows);  // see prefault.h
  void reserve(size_t rows) { wide_ ? wide_values_.reserve(rows) : narrow_values_.reserve(rows); }
  int64_t operator[](size_t i) const { return wide_ ? wide_values_[i] : narrow_values_[i]; }
  size_t size() const { return wide_ ? wide_values_.size() : narrow_values_.size(); }

 private:
  void widen();

  std::vector<int32_t> narrow_values_;
  std::vector<int64_t> wide_values_;
  bool wide_ = false;
};

enum class ArgType : uint8_t {
  kInt = 0,
  kDouble,
  kString,  // StringId
  kBool,    // 0 or 1
  kJson,    // StringId of the value's JSON text: arrays, objects, null, numbers beyond 64 bits
};
inline constexpr int kArgTypeCount = 5;

// The values of one argument ("External id") in one type, for the slices that have it. A key whose
// values have several types has a column for each.
struct ArgColumn {
  StringId key = kEmptyString;
  ArgType type = ArgType::kInt;
  std::vector<SliceId> rows;    // ascending
  IntColumn ints;               // kInt, kBool, kString and kJson (index of the StringId)
  std::vector<double> doubles;  // kDouble

  // Position of a slice's value in this column. O(log n); walk `rows` where many are wanted.
  std::optional<size_t> find(SliceId slice) const {
    const auto it = std::lower_bound(rows.begin(), rows.end(), slice);
    if (it == rows.end() || *it != slice) return std::nullopt;
    return static_cast<size_t>(it - rows.begin());
  }
  StringId string(size_t i) const { return StringId{static_cast<uint32_t>(ints[i])}; }
};

// Counter values, track after track, by time.
struct CounterColumns {
  std::vector<int64_t> time_ns;
  std::vector<double> value;
};

// An arrow between two slices, in order of these (from, then to). from_ns and to_ns are the moments
// at which it leaves and arrives.
struct FlowColumns {
  std::vector<SliceId> from;
  std::vector<SliceId> to;
  std::vector<int64_t> from_ns;
  std::vector<int64_t> to_ns;
  std::vector<LabelId> label;
  std::vector<uint64_t> id;  // as in the file
};

struct Frame {
  StringId name = kEmptyString;
  StringId file = kEmptyString;
  int32_t line = 0;
  friend bool operator==(const Frame&, const Frame&) = default;
};

// A node of the stack tree: the frame, the stack that called it, and the line at which the function
// stood (0: unknown). A function seen at two lines is two nodes of one frame.
struct StackNode {
  StackId parent = kNoStack;
  FrameId frame = kNoFrame;
  int32_t line = 0;
  friend bool operator==(const StackNode&, const StackNode&) = default;
};

inline constexpr int64_t kNoCpuNs = -1;
using format::kSampleBesideCalls;
using format::kSampleHeldGil;
using format::kSampleWaited;

// Which time of samples is added up.
enum class SampleWeight : uint8_t { kCpuWhereKnown = 0, kWall };

// Stacks seen on threads. The last three columns are empty where no sample has anything in them:
// ask by the functions.
struct SampleColumns {
  std::vector<int64_t> time_ns;
  std::vector<TrackId> track;
  std::vector<StackId> stack;
  std::vector<int64_t> weight_ns;  // wall time that the sample stands for
  std::vector<int64_t> cpu_ns;     // CPU time that the thread used in it; kNoCpuNs: unknown
  std::vector<uint8_t> flags;      // kSampleHeldGil, kSampleWaited, kSampleBesideCalls
  std::vector<uint32_t> count;     // ticks of the sampler that are one row; at least 1

  size_t size() const { return time_ns.size(); }
  int64_t get_cpu_ns(size_t row) const { return cpu_ns.empty() ? kNoCpuNs : cpu_ns[row]; }
  uint8_t get_flags(size_t row) const { return flags.empty() ? uint8_t{0} : flags[row]; }
  uint32_t get_count(size_t row) const { return count.empty() ? 1 : count[row]; }
};

// What a `.prof` holds: who called whom how often and for how long, with no timeline. A caller of
// kNoFrame is the root: the row is then the callee's own total. Where a file only counts the calls
// of a caller, both times are kNoCallTimeNs.
inline constexpr int64_t kNoCallTimeNs = -1;
struct CallEdgeColumns {
  std::vector<FrameId> caller;
  std::vector<FrameId> callee;
  std::vector<uint64_t> calls;
  std::vector<uint64_t> primitive_calls;
  std::vector<int64_t> self_ns;
  std::vector<int64_t> total_ns;
};

// Memory taken (bytes > 0) and given back (bytes < 0), by time. `slice` is the innermost one that
// was open on the track at that moment. Totals are -1 where the file has none.
struct AllocationColumns {
  std::vector<int64_t> time_ns;
  std::vector<TrackId> track;
  std::vector<SliceId> slice;
  std::vector<uint64_t> address;
  std::vector<int64_t> bytes;
  std::vector<int16_t> device_type;  // torch's c10::DeviceType: 0 CPU, 1 CUDA, …
  std::vector<int16_t> device_id;    // -1: none
  std::vector<int64_t> total_allocated_bytes;
  std::vector<int64_t> total_reserved_bytes;
};

}  // namespace stepscope
