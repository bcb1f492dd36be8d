// For the tests of ingest: traces loaded from text, and what is in them as text that can be
// compared.
//
//   const Trace trace = load_json(R"([{"ph":"X","name":"a","ts":1,"dur":2}])");
//   EXPECT_EQ(slices_as_text(trace), "a 1000+2000\n");
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/load.h"
#include "trace/trace.h"

namespace stepscope {

inline Trace load_json(std::string_view text, const LoadOptions& options = {.threads = 1}) {
  Result<Trace> trace = load_bytes(text, "test.json", options);
  if (!trace) {
    ADD_FAILURE() << trace.status().message();
    trace = load_bytes("[]", "empty.json");
  }
  return std::move(*trace);
}

inline std::string load_fault(std::string_view text, const LoadOptions& options = {.threads = 1}) {
  const Result<Trace> trace = load_bytes(text, "test.json", options);
  return trace ? "" : trace.status().message();
}

// The list between `head` and `tail` as a whole file.
inline std::string events(std::string_view list) {
  return "{\"traceEvents\":[" + std::string(list) + "]}";
}

// "key=value" of all arguments of a slice, sorted.
inline std::vector<std::string> args_of(const Trace& trace, SliceId slice) {
  std::vector<std::string> args;
  for (const ArgColumn& column : trace.args()) {
    const auto at = column.find(slice);
    if (!at) continue;
    std::string text(trace.string(column.key));
    text += '=';
    switch (column.type) {
      case ArgType::kInt:
        text += std::to_string(column.ints[*at]);
        break;
      case ArgType::kBool:
        text += column.ints[*at] != 0 ? "true" : "false";
        break;
      case ArgType::kDouble:
        text += std::to_string(column.doubles[*at]);
        break;
      case ArgType::kString:
        text += "'" + std::string(trace.string(column.string(*at))) + "'";
        break;
      case ArgType::kJson:
        text += trace.string(column.string(*at));
        break;
    }
    args.push_back(std::move(text));
  }
  std::sort(args.begin(), args.end());
  return args;
}

inline std::string slice_as_text(const Trace& trace, uint32_t row) {
  return std::string(trace.slice_name(SliceId{row})) + " " +
         std::to_string(trace.slices().start_ns[row]) + "+" +
         std::to_string(trace.slices().dur_ns[row]);
}

// A line per slice, in the trace's order; children are indented.
inline std::string slices_as_text(const Trace& trace) {
  std::string text;
  for (uint32_t row = 0; row < trace.slices().size(); ++row) {
    text += std::string(trace.slices().depth[row], ' ') + slice_as_text(trace, row) + "\n";
  }
  return text;
}

inline std::string flows_as_text(const Trace& trace) {
  std::string text;
  for (size_t i = 0; i < trace.flows().id.size(); ++i) {
    text += slice_as_text(trace, index(trace.flows().from[i])) + " -> " +
            slice_as_text(trace, index(trace.flows().to[i])) + "\n";
  }
  return text;
}

inline std::string counters_as_text(const Trace& trace) {
  std::string text;
  for (const Track& track : trace.tracks()) {
    for (uint64_t i = track.first_value; i < track.first_value + track.value_count; ++i) {
      text += std::string(trace.string(track.name)) + "." +
              std::string(trace.string(track.series)) + " " +
              std::to_string(trace.counters().time_ns[i]) + " " +
              std::to_string(trace.counters().value[i]) + "\n";
    }
  }
  return text;
}

// The row of the only slice of that name.
inline SliceId find_slice(const Trace& trace, std::string_view name) {
  SliceId found = kNoSlice;
  for (uint32_t row = 0; row < trace.slices().size(); ++row) {
    if (trace.slice_name(SliceId{row}) != name) continue;
    EXPECT_EQ(found, kNoSlice) << "two slices are named " << name;
    found = SliceId{row};
  }
  EXPECT_NE(found, kNoSlice) << "no slice is named " << name;
  return found;
}

inline SliceKind kind_of_slice(const Trace& trace, std::string_view name) {
  return trace.labels()[trace.slices().label[index(find_slice(trace, name))]].kind;
}

inline const Track& track_of_slice(const Trace& trace, std::string_view name) {
  return trace.tracks()[index(trace.find_track_of(find_slice(trace, name)))];
}

inline uint64_t stat(const Trace& trace, Stat which) { return trace.stats().get(which); }

// All of a trace but its notes and its source: equal texts are equal traces.
inline std::string as_text(const Trace& trace) {
  std::string text = trace.format() + "\n";
  for (const Track& track : trace.tracks()) {
    const Process& process = trace.processes()[track.process];
    text += std::string(track_kind_name(track.kind)) + " " + std::to_string(process.pid.number) +
            "'" + std::string(trace.string(process.pid.text)) + "' " +
            std::string(trace.string(process.name)) + " " + std::to_string(track.tid.number) + "'" +
            std::string(trace.string(track.tid.text)) + "' " +
            std::string(trace.string(track.name)) + " " + std::to_string(track.device) + " " +
            std::to_string(track.stream) + " " + std::to_string(track.slice_count) + " " +
            std::to_string(track.value_count) + "\n";
    for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
      const Label& label = trace.labels()[trace.slices().label[row]];
      text += std::string(trace.slices().depth[row] + 1u, ' ') + slice_as_text(trace, row) + " " +
              std::string(trace.string(label.category)) + " " + std::string(kind_name(label.kind));
      for (const std::string& arg : args_of(trace, SliceId{row})) text += " " + arg;
      text += "\n";
    }
  }
  text += counters_as_text(trace) + flows_as_text(trace);
  for (size_t i = 0; i < trace.allocations().time_ns.size(); ++i) {
    text += "allocation " + std::to_string(trace.allocations().time_ns[i]) + " " +
            std::to_string(trace.allocations().bytes[i]) + "\n";
  }
  for (const MetadataEntry& entry : trace.metadata()) {
    text +=
        std::string(trace.string(entry.key)) + ": " + std::string(trace.string(entry.value)) + "\n";
  }
  for (int i = 0; i < kStatCount; ++i) {
    const Stat which = static_cast<Stat>(i);
    text += std::string(stat_name(which)) + " " + std::to_string(stat(trace, which)) + "\n";
  }
  return text;
}

}  // namespace stepscope
