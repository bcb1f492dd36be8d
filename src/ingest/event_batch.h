// EventBatch: the events of one chunk of a Chrome trace-event file, as one parser read them, before
// they mean anything. Strings, labels, threads and argument columns are numbered by that parser;
// what is new since its last batch is listed, so that EventAssembler can translate the numbers.
// Arguments of slices are kept by column, those of the few events that are looked at one by one
// (counters, metadata, allocations) by event.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/columns.h"

namespace stepscope {

struct RawEvent {
  static constexpr uint8_t kHasTime = 1;
  static constexpr uint8_t kHasDuration = 2;
  static constexpr uint8_t kHasId = 4;
  static constexpr uint8_t kBindsEnclosing = 8;  // "bp": "e"
  static constexpr uint8_t kHasArgs = 16;
  static constexpr uint8_t kIdIsLocal = 32;   // "id2": {"local": …}
  static constexpr uint8_t kIdIsGlobal = 64;  // "id2": {"global": …}

  int64_t time_ns = 0;
  int64_t dur_ns = 0;
  uint64_t id = 0;
  uint32_t label = 0;
  uint32_t thread = 0;
  uint32_t scope = 0;  // a string
  uint32_t first_side_arg = 0;
  uint32_t side_arg_count = 0;
  char phase = 0;
  uint8_t flags = 0;

  bool has(uint8_t flag) const { return (flags & flag) != 0; }
};

struct RawLabel {
  uint32_t name;
  uint32_t category;
};

struct RawThread {
  uint32_t pid;  // strings: the text of the id, without quotes
  uint32_t tid;
};

struct RawColumn {
  uint32_t key;
  ArgType type;
};

// A value: the integer, the bits of the double, or the number of the string.
struct RawArg {
  uint32_t column;
  uint64_t value;
};

struct ColumnValues {
  std::vector<uint32_t> event;  // index into EventBatch::events
  std::vector<uint64_t> value;
};

struct EventBatch {
  uint32_t parser = 0;  // whose numbers these are
  std::vector<RawEvent> events;
  std::vector<ColumnValues> columns;  // by column number
  std::vector<RawArg> side_args;
  // New with this batch, in the order of their numbers. Strings are raw JSON text, escapes and all;
  // they live as long as the parser.
  std::vector<std::string_view> new_strings;
  std::vector<RawLabel> new_labels;
  std::vector<RawThread> new_threads;
  std::vector<RawColumn> new_columns;
  uint64_t events_skipped = 0;  // without a phase, or without a time where one is needed
  uint64_t values_skipped = 0;

  void clear() {
    events.clear();
    for (ColumnValues& column : columns) {
      column.event.clear();
      column.value.clear();
    }
    side_args.clear();
    new_strings.clear();
    new_labels.clear();
    new_threads.clear();
    new_columns.clear();
    events_skipped = values_skipped = 0;
  }
};

}  // namespace stepscope
