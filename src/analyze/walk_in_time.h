// A walk over what a track did in a stretch of time: slices that reach beyond it are cut to it, so
// that own times add up to the stretch. Those that began before come first, outermost first.
//
//   Nesting nesting;
//   walk_in_time(trace, track, step, nesting,
//                [&](uint32_t row, bool began_before) { … },      // when it is opened
//                [&](const Nesting::Slice& slice) { … });         // when it is closed
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analyze/intervals.h"
#include "trace/nesting.h"
#include "trace/trace.h"

namespace stepscope {

template <typename OnOpen, typename OnClose>
void walk_in_time(const Trace& trace, const Track& track, const Interval& time, Nesting& nesting,
                  OnOpen&& on_open, OnClose&& on_close) {
  const SliceColumns& slices = trace.slices();
  const auto all = slices.start_ns.begin() + track.first_slice;
  const auto first = std::lower_bound(all, all + track.slice_count, time.begin_ns);
  const auto last = std::lower_bound(first, all + track.slice_count, time.end_ns);
  const auto open = [&](uint32_t row, bool began_before) {
    const int64_t begin_ns = std::max(slices.start_ns[row], time.begin_ns);
    const int64_t end_ns = std::min(slices.end_ns(row), time.end_ns);
    nesting.open(SliceId{row}, slices.label[row], begin_ns, end_ns - begin_ns, on_close);
    on_open(row, began_before);
  };
  // What goes on when the stretch begins: the last slice before it and those around that one, as
  // far as they reach into it.
  std::vector<uint32_t> around;
  const auto first_row = static_cast<uint32_t>(first - slices.start_ns.begin());
  SliceId at = first_row > track.first_slice ? SliceId{first_row - 1} : kNoSlice;
  for (; at != kNoSlice; at = slices.parent[index(at)]) {
    if (slices.end_ns(index(at)) > time.begin_ns) around.push_back(index(at));
  }
  for (auto it = around.rbegin(); it != around.rend(); ++it) open(*it, true);
  for (auto it = first; it != last; ++it) {
    open(static_cast<uint32_t>(it - slices.start_ns.begin()), false);
  }
  nesting.close_all(on_close);
}

}  // namespace stepscope
