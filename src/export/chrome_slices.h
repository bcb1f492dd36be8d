// ChromeSlices: the slices of track after track as trace events, with their arguments.
//
//   ChromeSlices slices(to);
//   for (each track, in order) slices.write(track);
//
// Slices of threads and streams are "X", or "i" where they are moments. Those of asynchronous
// tracks are "b" and "e", in the order of nesting, so that those of one operation (one id) meet.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "export/chrome_event_text.h"
#include "export/kineto_ids.h"
#include "export/nested_times.h"
#include "export/slice_args.h"

namespace stepscope {

class ChromeSlices {
 public:
  // Slices of `is_critical`, by row, say so in an argument of their own; null: none.
  explicit ChromeSlices(ChromeEventText& to, const std::vector<uint8_t>* is_critical = nullptr);

  // Tracks in their order; not for counters.
  void write(const Track& track);

 private:
  struct TakenArg {
    const ArgColumn* column;
    size_t at;
  };

  void write_thread_metadata(const Track& track);
  void write_threads_slices(const Track& track);
  void write_steps(const Track& track);
  void write_async_slices(const Track& track);
  void write_slice(const Track& track, uint32_t row);
  void write_async_point(std::string_view phase, const Track& track, uint32_t row, uint64_t id,
                         int64_t time_ns);

  bool holds_steps(const Track& track) const;
  void take_args(uint32_t row);
  std::optional<TakenArg> take_arg(const ArgColumn* column);
  void write_args(uint32_t row);
  void write_kineto_ids(uint32_t row);
  void write_value(const TakenArg& arg);

  ChromeEventText& to_;
  const Trace& trace_;
  const SliceColumns& slices_;
  SliceArgs args_;
  NestedTimes times_;  // of the track at hand
  KinetoIds kineto_ids_;
  std::vector<TakenArg> taken_args_;  // of the slice at hand
  const std::vector<uint8_t>* const is_critical_;
  const ArgColumn* const instant_scope_;
  const ArgColumn* const async_id_;
};

}  // namespace stepscope
