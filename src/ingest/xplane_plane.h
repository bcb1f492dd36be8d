// Reads one plane of an XPlane profile into a TraceBuilder: names first, wherever they are in the
// message, then line by line. For the hot path, which is a few instructions per event and stat:
// what a name or a stat means is resolved once per id, columns are appended to, and nothing is
// looked up by text.
//
//   PlaneReader reader(builder, clock, damage);
//   reader.read(message, {.prefix = "host1 ", .pid = 3});
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "trace/trace_builder.h"

namespace stepscope::xplane {

struct Damage;

// How times of a file become times of the trace. Lines have times since the session's start, or
// since 1970.
struct Clock {
  int64_t base_ns = 0;   // the trace's 0, since 1970; 0: unknown
  int64_t start_ns = 0;  // the file's session, since 1970; 0: unknown

  int64_t line_start_ns(int64_t timestamp_ns) const;
};
// Times from here on are since 1970: 1973, or three years after a session's start.
inline constexpr int64_t kFirstAbsoluteNs = 100'000'000'000'000'000;

struct PlaneOptions {
  std::string prefix;                                   // before the names of processes
  std::function<void(std::string_view bytes)> on_read;  // these bytes are not needed any more
};

// One for the planes of a file. One thread at a time.
class PlaneReader {
 public:
  PlaneReader(TraceBuilder& builder, const Clock& clock, Damage& damage, PlaneOptions options);
  ~PlaneReader();
  PlaneReader(const PlaneReader&) = delete;

  // Gives the plane's process the pid where it has events. Whether it has.
  bool read(std::string_view message, int64_t pid);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace stepscope::xplane
