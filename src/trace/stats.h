// What had to be mended, skipped or left out to make a trace. A bad event in a good file is counted
// here and shown in every view; nothing is hidden.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

enum class Stat : uint8_t {
  kEventsRead = 0,     // in the file, good or bad
  kEventsSkipped,      // not understood: bad JSON, no name, no time
  kEventsMended,       // read after a control character or bad UTF-8 was replaced
  kBeginsWithoutEnd,   // closed at the end of the trace
  kEndsWithoutBegin,   // dropped
  kSlicesOverlapping,  // ended after the slice they started in; kept as siblings
  kDurationsNegative,  // taken as 0
  kDepthClamped,       // deeper than 65,535
  kFlowsUnbound,       // an arrow's end that met no slice, or had no other end
  kValuesSkipped,      // counter or argument values that are no number, or too long
  kBytesTruncated,     // the file ends too early; bytes that could not be used at its end
  kBlocksDamaged,      // .sscope: failed their checksum
  kBlocksUnknown,      // .sscope: of a type from the future
  kBytesLost,          // .sscope: in damaged blocks
  kRecordsDropped,     // the recorder was short of memory
  kRecordsRecovered,   // from the pool of a killed program
  kRecordsLost,        // 8-byte words of a recorder's thread that are neither in file nor in pool
  kRecordsExpired,     // words before the oldest file that a ring keeps
  kBeginsExpired,      // slices whose begin is among these; shown from the first record kept
  kCallsLeftOut,       // shorter than the recorder was told to keep
  kSlicesOpenAtEnd,    // when the recording ended
  kSamplerTicks,       // moments at which a sampler meant to look
  kTicksMissed,        // of these: it came too late
  kSamplesTorn,        // stacks that changed while they were read, again and again; left out
  kCount,
};
inline constexpr int kStatCount = static_cast<int>(Stat::kCount);

std::string_view stat_name(Stat stat);  // "events_skipped"
bool stat_is_fault(Stat stat);          // false for what is merely informative

class Stats {
 public:
  static constexpr size_t kMaxNotes = 20;

  void add(Stat stat, uint64_t count = 1) { counts_[static_cast<size_t>(stat)] += count; }
  uint64_t get(Stat stat) const { return counts_[static_cast<size_t>(stat)]; }
  // A sentence for the user, e.g. "byte 11948131: control character in a name; event skipped". The
  // first kMaxNotes are kept.
  void note(std::string sentence);
  const std::vector<std::string>& notes() const { return notes_; }
  bool has_faults() const;
  void merge(const Stats& other);

 private:
  std::array<uint64_t, kStatCount> counts_{};
  std::vector<std::string> notes_;
};

}  // namespace stepscope
