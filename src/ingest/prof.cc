#include "ingest/prof.h"
#include "ingest/read_whole.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "trace/trace_builder.h"

namespace stepscope {
namespace {

constexpr size_t kMaxProfBytes = size_t{1} << 30;  // some ten million functions

class EdgeMaker {
 public:
  EdgeMaker(TraceBuilder& builder, const CallProfile& profile) : builder_(builder) {
    for (const CallProfile::Function& function : profile.functions()) {
      Frame frame;
      frame.name = builder.string(profile.string(function.name));
      frame.file = builder.string(profile.string(function.file));
      if (function.line == static_cast<int32_t>(function.line)) {
        frame.line = static_cast<int32_t>(function.line);
      } else {
        builder.stats().add(Stat::kValuesSkipped);
      }
      frames_.push_back(builder.add_frame(frame));
    }
  }

  void add(const CallProfile::Entry& entry) {
    const FrameId callee = frames_[entry.function];
    add(kNoFrame, callee, entry.figures);
    for (const CallProfile::Caller& caller : entry.callers) {
      const FrameId frame = frames_[caller.function];
      if (caller.has_times) {
        add(frame, callee, caller.figures);
      } else {
        const uint64_t calls = count(caller.figures.calls);
        builder_.add_call_edge(frame, callee, calls, calls, kNoCallTimeNs, kNoCallTimeNs);
      }
    }
  }

 private:
  void add(FrameId caller, FrameId callee, const CallFigures& figures) {
    int64_t self_ns = to_ns(figures.self_s);
    if (caller != kNoFrame && self_ns == kNoCallTimeNs) self_ns = 0;
    builder_.add_call_edge(caller, callee, count(figures.calls), count(figures.primitive_calls),
                           self_ns, to_ns(figures.total_s));
  }
  uint64_t count(int64_t calls) {
    if (calls < 0) builder_.stats().add(Stat::kValuesSkipped);
    return static_cast<uint64_t>(std::max<int64_t>(calls, 0));
  }
  int64_t to_ns(double seconds) {
    constexpr double kMaxNs = static_cast<double>(TraceBuilder::kMaxDurNs);
    if (std::isnan(seconds)) {
      builder_.stats().add(Stat::kValuesSkipped);
      return 0;
    }
    return std::llround(std::clamp(seconds * 1e9, -kMaxNs, kMaxNs));
  }

  TraceBuilder& builder_;
  std::vector<FrameId> frames_;  // by function
};

}  // namespace

Result<Trace> load_prof(ByteSource& source, const LoadOptions& options) {
  const Result<std::string> bytes = read_whole(source, kMaxProfBytes, "a profile", options);
  if (!bytes) return bytes.status();
  if (source.truncated()) return Status::error(source.name() + ": " + source.fault());
  const Result<CallProfile> profile = decode_prof(*bytes, source.name());
  if (!profile) return profile.status();
  TraceBuilder builder;
  builder.stats().add(Stat::kEventsRead, profile->entries().size());
  EdgeMaker edges(builder, *profile);
  for (const CallProfile::Entry& entry : profile->entries()) edges.add(entry);
  builder.set_format("cProfile");
  builder.set_source(source.name());
  return std::move(builder).finish();
}

}  // namespace stepscope
