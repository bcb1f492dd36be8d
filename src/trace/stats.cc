#include "trace/stats.h"

#include <algorithm>
#include <utility>

namespace stepscope {
namespace {

constexpr std::array<std::string_view, kStatCount> kNames = {
    "events_read",        "events_skipped",     "events_mended",      "begins_without_end",
    "ends_without_begin", "slices_overlapping", "durations_negative", "depth_clamped",
    "flows_unbound",      "values_skipped",     "bytes_truncated",    "blocks_damaged",
    "blocks_unknown",     "bytes_lost",         "records_dropped",    "records_recovered",
    "records_lost",       "records_expired",    "begins_expired",     "calls_left_out",
    "slices_open_at_end", "sampler_ticks",      "ticks_missed",       "samples_torn",
};

}  // namespace

std::string_view stat_name(Stat stat) { return kNames[static_cast<size_t>(stat)]; }

bool stat_is_fault(Stat stat) {
  switch (stat) {
    case Stat::kEventsRead:
    case Stat::kFlowsUnbound:  // Kineto starts an arrow at every runtime call, launch or not
    case Stat::kRecordsExpired:
    case Stat::kBeginsExpired:
    case Stat::kCallsLeftOut:
    case Stat::kSlicesOpenAtEnd:
    case Stat::kSamplerTicks:
    case Stat::kTicksMissed:  // of the sampler, not of the file
    case Stat::kSamplesTorn:
      return false;
    default:
      return true;
  }
}

void Stats::note(std::string sentence) {
  if (notes_.size() < kMaxNotes) notes_.push_back(std::move(sentence));
}

bool Stats::has_faults() const {
  for (int i = 0; i < kStatCount; ++i) {
    if (stat_is_fault(static_cast<Stat>(i)) && counts_[static_cast<size_t>(i)] != 0) return true;
  }
  return false;
}

void Stats::merge(const Stats& other) {
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  for (const std::string& sentence : other.notes_) note(sentence);
}

}  // namespace stepscope
