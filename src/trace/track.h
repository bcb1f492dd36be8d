// Processes and tracks. A track is a lane of the trace: a thread, a stream of a device, a lane of
// asynchronous operations, or a counter. Its slices and counter values lie next to each other in
// the trace's columns, in order of time: [first_slice, first_slice + slice_count).
#pragma once

#include <cstdint>
#include <string_view>

#include "trace/ids.h"

namespace stepscope {

enum class TrackKind : uint8_t { kThread = 0, kStream, kAsync, kCounter };
std::string_view track_kind_name(TrackKind kind);  // "thread", "stream", "async", "counter"

// A process or thread id as files have it: a number, or a text such as "Traces" (then number is 0).
struct ForeignId {
  int64_t number = 0;
  StringId text = kEmptyString;
  friend bool operator==(const ForeignId&, const ForeignId&) = default;
};

struct Process {
  ForeignId pid;
  StringId name = kEmptyString;    // "python"
  StringId labels = kEmptyString;  // "GPU 0"
  int64_t sort_index = 0;
  bool has_sort_index = false;
};

struct Track {
  TrackKind kind = TrackKind::kThread;
  uint32_t process = 0;  // index into Trace::processes()
  ForeignId tid;
  StringId name = kEmptyString;  // the thread's name; the counter's, with its series
  StringId series =
      kEmptyString;              // counters: the key of the value in its event; async: the category
  StringId unit = kEmptyString;  // counters: "bytes", "cores", …; "" where the file does not say
  int32_t device = -1;           // streams: the device's number
  int64_t stream = -1;           // streams: the stream's number
  int64_t sort_index = 0;
  bool has_sort_index = false;
  // Set when the trace is built.
  uint32_t first_slice = 0;
  uint32_t slice_count = 0;
  uint64_t first_value = 0;  // counters
  uint64_t value_count = 0;
};

}  // namespace stepscope
