#include "analyze/fault_summary.h"

#include "analyze/text_value.h"

#include <algorithm>
#include <string_view>

namespace stepscope {
namespace {

struct Phrase {
  Stat stat;
  std::string_view one;   // after "1 "
  std::string_view many;  // after the count
};

// What matters most comes first.
constexpr Phrase kPhrases[] = {
    {Stat::kBytesTruncated, "byte lost where the file is cut short",
     "bytes lost where the file is cut short"},
    {Stat::kBlocksDamaged, "damaged block left out", "damaged blocks left out"},
    {Stat::kBytesLost, "byte lost in damaged blocks", "bytes lost in damaged blocks"},
    {Stat::kRecordsDropped, "record dropped while recording", "records dropped while recording"},
    {Stat::kRecordsLost, "record lost", "records lost"},
    {Stat::kRecordsRecovered, "record recovered from a program that did not close its recording",
     "records recovered from a program that did not close its recording"},
    {Stat::kEventsSkipped, "event skipped", "events skipped"},
    {Stat::kEventsMended, "event mended", "events mended"},
    {Stat::kValuesSkipped, "value skipped", "values skipped"},
    {Stat::kBeginsWithoutEnd, "begin without an end", "begins without an end"},
    {Stat::kEndsWithoutBegin, "end without a begin", "ends without a begin"},
    {Stat::kDurationsNegative, "negative duration taken as 0", "negative durations taken as 0"},
    {Stat::kSlicesOverlapping, "slice overlaps another", "slices overlap others"},
    {Stat::kDepthClamped, "slice nested too deeply", "slices nested too deeply"},
    {Stat::kFlowsUnbound, "arrow without an end", "arrows without an end"},
    {Stat::kBlocksUnknown, "block of a newer version left out",
     "blocks of a newer version left out"},
};

std::string count_text(uint64_t count) {
  return text_of_count(static_cast<int64_t>(std::min<uint64_t>(count, INT64_MAX)));
}

}  // namespace

std::string sampler_summary(const Stats& stats) {
  const uint64_t ticks = stats.get(Stat::kSamplerTicks);
  const uint64_t missed = stats.get(Stat::kTicksMissed);
  const uint64_t torn = stats.get(Stat::kSamplesTorn);
  std::string line;
  if (missed > 0) {
    line = count_text(missed) + " of " + count_text(std::max(ticks, missed)) +
           (ticks == 1 ? " tick" : " ticks") + " of the sampler" +
           (missed == 1 ? " was" : " were") + " missed";
  }
  if (torn > 0) {
    line += (line.empty() ? "" : "; ") + count_text(torn) +
            (torn == 1 ? " stack changed while it was read and is left out"
                       : " stacks changed while they were read and are left out");
  }
  return line;
}

std::string fault_summary(const Stats& stats) {
  std::string line;
  for (const Phrase& phrase : kPhrases) {
    const uint64_t count = stats.get(phrase.stat);
    if (count == 0 || !stat_is_fault(phrase.stat)) continue;
    if (!line.empty()) line += ", ";
    line += count_text(count);
    line += ' ';
    line += count == 1 ? phrase.one : phrase.many;
  }
  return line;
}

}  // namespace stepscope
