#include "trace/clock_table.h"

#include <algorithm>

#include "trace/trace_builder.h"

namespace stepscope {
namespace {

constexpr int64_t kLimitNs = TraceBuilder::kMaxTimeNs;

// (tick - from) with its sign, as a double: exact up to 2^53 ticks, weeks of them.
double ticks_since(uint64_t from, uint64_t tick) {
  return tick >= from ? static_cast<double>(tick - from) : -static_cast<double>(from - tick);
}

}  // namespace

void ClockTable::settle() {
  for (Triple& triple : triples_) {
    triple.monotonic_ns = std::clamp(triple.monotonic_ns, -kLimitNs, kLimitNs);
    triple.realtime_ns = std::clamp(triple.realtime_ns, -kLimitNs, kLimitNs);
  }
  std::stable_sort(triples_.begin(), triples_.end(),
                   [](const Triple& a, const Triple& b) { return a.ticks < b.ticks; });
  size_t kept = 0;
  for (const Triple& triple : triples_) {
    const bool goes_on = kept == 0 || (triple.ticks > triples_[kept - 1].ticks &&
                                       triple.monotonic_ns >= triples_[kept - 1].monotonic_ns);
    if (goes_on) triples_[kept++] = triple;
  }
  triples_.resize(kept);
}

ClockTable::Stretch ClockTable::find_stretch(uint64_t tick) const {
  Stretch stretch;
  stretch.ns_per_tick = 1e9 / static_cast<double>(std::max<uint64_t>(ticks_per_second_, 1));
  stretch.end = UINT64_MAX;
  if (triples_.empty()) return stretch;
  const auto after =
      std::upper_bound(triples_.begin(), triples_.end(), tick,
                       [](uint64_t t, const Triple& triple) { return t < triple.ticks; });
  auto at = after == triples_.begin() ? triples_.begin() : after - 1;
  if (after != triples_.begin()) stretch.first = at->ticks;
  if (after != triples_.end()) stretch.end = after->ticks;
  if (triples_.size() > 1) {
    if (at + 1 == triples_.end()) --at;
    const Triple& to = *(at + 1);
    stretch.ns_per_tick =
        static_cast<double>(to.monotonic_ns - at->monotonic_ns) / ticks_since(at->ticks, to.ticks);
  }
  stretch.from = *at;
  return stretch;
}

int64_t ClockTable::to_ns(const Stretch& stretch, uint64_t tick) const {
  const double offset_ns = ticks_since(stretch.from.ticks, tick) * stretch.ns_per_tick;
  constexpr double kLimit = 2 * static_cast<double>(kLimitNs);
  const auto whole_ns = static_cast<int64_t>(std::clamp(offset_ns, -kLimit, kLimit));
  const int64_t ns = std::clamp(stretch.from.monotonic_ns + whole_ns, -kLimitNs, kLimitNs);
  return std::clamp(ns + shift_ns_, -kLimitNs, kLimitNs);
}

int64_t ClockTable::to_ns(uint64_t tick) const { return to_ns(find_stretch(tick), tick); }

int64_t ClockTable::realtime_base_ns() const {
  return triples_.empty() ? 0 : triples_[0].realtime_ns - triples_[0].monotonic_ns;
}

}  // namespace stepscope
