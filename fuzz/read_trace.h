// Reads every column of a loaded trace and checks what must hold for all of them, whatever the
// file.
#pragma once

#include <cstdint>

#include "base/check.h"
#include "trace/trace.h"

namespace stepscope::fuzz {

inline volatile uint64_t g_sink = 0;

inline void touch(uint64_t value) { g_sink = g_sink + value; }

inline void read_all(const Trace& trace) {
  const SliceColumns& slices = trace.slices();
  CHECK(slices.parent.size() == slices.size() && slices.depth.size() == slices.size() &&
            slices.label.size() == slices.size() && slices.dur_ns.size() == slices.size(),
        "columns have one length");
  uint64_t in_tracks = 0;
  uint64_t values_in_tracks = 0;
  for (const Track& track : trace.tracks()) {
    CHECK(track.process < trace.processes().size(), "a track has a process");
    CHECK(track.first_slice == in_tracks, "tracks lie next to each other");
    in_tracks += track.slice_count;
    values_in_tracks += track.value_count;
    touch(trace.string(track.name).size() + trace.string(track.series).size() +
          trace.string(track.tid.text).size());
    for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
      const SliceId parent = slices.parent[row];
      CHECK(slices.dur_ns[row] >= 0, "no slice ends before it starts");
      CHECK(parent == kNoSlice || (index(parent) >= track.first_slice && index(parent) < row),
            "a parent comes before its child, on the same track");
      CHECK(row == track.first_slice || slices.start_ns[row - 1] <= slices.start_ns[row],
            "slices are in order");
      CHECK(slices.start_ns[row] >= trace.begin_ns() && slices.end_ns(row) <= trace.end_ns(),
            "a slice lies in the trace");
      const Label& label = trace.labels()[slices.label[row]];
      touch(trace.string(label.name).size() + trace.string(label.category).size());
    }
  }
  CHECK(in_tracks == slices.size(), "every slice is on a track");
  CHECK(values_in_tracks == trace.counters().value.size(), "every value is on a track");
  for (const ArgColumn& column : trace.args()) {
    touch(trace.string(column.key).size());
    for (size_t i = 0; i < column.rows.size(); ++i) {
      CHECK(index(column.rows[i]) < slices.size(), "an argument has a slice");
      CHECK(i == 0 || column.rows[i - 1] < column.rows[i], "arguments are in order");
      if (column.type == ArgType::kString || column.type == ArgType::kJson) {
        touch(trace.string(column.string(i)).size());
      }
    }
  }
  const FlowColumns& flows = trace.flows();
  for (size_t i = 0; i < flows.id.size(); ++i) {
    CHECK(index(flows.from[i]) < slices.size() && index(flows.to[i]) < slices.size(),
          "an arrow has two slices");
  }
  const AllocationColumns& allocations = trace.allocations();
  for (size_t i = 0; i < allocations.time_ns.size(); ++i) {
    const SliceId slice = allocations.slice[i];
    CHECK(slice == kNoSlice || index(slice) < slices.size(), "an allocation has a slice or none");
  }
  for (const MetadataEntry& entry : trace.metadata()) touch(trace.string(entry.value).size());
  for (const Process& process : trace.processes()) touch(trace.string(process.name).size());
}

}  // namespace stepscope::fuzz
