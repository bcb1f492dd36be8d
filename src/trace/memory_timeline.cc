#include "trace/memory_timeline.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "trace/memory_categories.h"

namespace stepscope {
namespace {

// What the devices hold, told once per moment and device.
class Walk {
 public:
  Walk(size_t devices, const std::function<void(const MemoryAtMoment&)>& on_moment)
      : now_(devices), is_changed_(devices), on_moment_(on_moment) {
    for (uint32_t device = 0; device < devices; ++device) now_[device].device = device;
  }

  void change(int64_t time_ns, uint32_t device, MemoryCategory category, int64_t bytes) {
    if (time_ns != time_ns_) tell();
    time_ns_ = time_ns;
    int64_t& held = now_[device].bytes[static_cast<size_t>(category)];
    held = add_saturating(held, bytes);
    if (is_changed_[device] == 0) changed_.push_back(device);
    is_changed_[device] = 1;
  }

  void tell() {
    std::sort(changed_.begin(), changed_.end());
    for (const uint32_t device : changed_) {
      now_[device].time_ns = time_ns_;
      on_moment_(now_[device]);
      is_changed_[device] = 0;
    }
    changed_.clear();
  }

 private:
  std::vector<MemoryAtMoment> now_;  // by device
  std::vector<uint8_t> is_changed_;
  std::vector<uint32_t> changed_;  // since time_ns_
  int64_t time_ns_ = INT64_MIN;
  const std::function<void(const MemoryAtMoment&)>& on_moment_;
};

}  // namespace

std::shared_ptr<const MemoryTimeline> MemoryTimeline::of(const Trace& trace) {
  return trace.derived().get<MemoryTimeline>("memory timeline",
                                             [&] { return MemoryTimeline(trace); });
}

MemoryTimeline::MemoryTimeline(const Trace& trace) {
  if (read_counters(trace)) {
    all_.devices = {{}};  // the file does not say which
    return;
  }
  all_ = AllocationLifetimes::build(trace);
  categories_ = find_memory_categories(trace, all_);
}

// The counters that ingest makes of torch's memory timeline, all of them or none.
bool MemoryTimeline::read_counters(const Trace& trace) {
  size_t found = 0;
  for (const Track& track : trace.tracks()) {
    const std::string_view series = trace.string(track.series);
    if (track.kind != TrackKind::kCounter || trace.string(track.name) != "memory") continue;
    for (size_t category = 0; category < kMemoryCategoryCount; ++category) {
      if (series != kMemoryCategoryNames[category].one) continue;
      ++found;
      for (uint64_t i = track.first_value; i < track.first_value + track.value_count; ++i) {
        constexpr double kMaxBytes = 1e18;
        const double value = trace.counters().value[i];
        const double bytes = std::isnan(value) ? 0 : std::clamp(value, -kMaxBytes, kMaxBytes);
        counted_.push_back({trace.counters().time_ns[i], static_cast<int64_t>(bytes),
                            static_cast<MemoryCategory>(category)});
      }
    }
  }
  if (found != kMemoryCategoryCount) counted_.clear();
  std::stable_sort(
      counted_.begin(), counted_.end(),
      [](const CounterValue& a, const CounterValue& b) { return a.time_ns < b.time_ns; });
  return !counted_.empty();
}

bool MemoryTimeline::has(MemoryCategory category) const {
  return std::find(categories_.begin(), categories_.end(), category) != categories_.end() ||
         std::any_of(counted_.begin(), counted_.end(), [&](const CounterValue& value) {
           return value.category == category && value.bytes > 0;
         });
}

bool MemoryTimeline::has_categories() const {
  for (size_t category = 0; category < kMemoryCategoryCount; ++category) {
    const MemoryCategory known{static_cast<uint8_t>(category)};
    if (known != MemoryCategory::kUnknown && has(known)) return true;
  }
  return false;
}

void MemoryTimeline::walk_counters(
    const std::function<void(const MemoryAtMoment&)>& on_moment) const {
  MemoryAtMoment now;
  for (size_t i = 0; i < counted_.size(); ++i) {
    now.time_ns = counted_[i].time_ns;
    now.bytes[static_cast<size_t>(counted_[i].category)] = counted_[i].bytes;
    if (i + 1 == counted_.size() || counted_[i + 1].time_ns != now.time_ns) on_moment(now);
  }
}

void MemoryTimeline::walk(const Takes& takes,
                          const std::function<void(const MemoryAtMoment&)>& on_moment) const {
  if (!counted_.empty()) {
    walk_counters(on_moment);
    return;
  }
  Walk walk(all_.devices.size(), on_moment);
  const auto change = [&](uint32_t id, int64_t time_ns, int sign) {
    const Lifetime& life = all_.lifetimes[id];
    if (takes && !takes(life)) return;
    walk.change(time_ns, all_.spaces[life.space].device, categories_[id], sign * life.bytes);
  };
  for (uint32_t id = 0; id < all_.lifetimes.size(); ++id) {
    if (all_.lifetimes[id].was_there_before()) change(id, all_.lifetimes[id].begin_ns, 1);
  }
  for (size_t row = 0; row < all_.taken.size(); ++row) {
    const uint32_t freed = all_.freed[row], taken = all_.taken[row];
    if (freed != kNoLifetime) change(freed, all_.lifetimes[freed].end_ns, -1);
    if (taken != kNoLifetime) change(taken, all_.lifetimes[taken].begin_ns, 1);
  }
  walk.tell();
}

std::vector<MemoryAtMoment> MemoryTimeline::find_peaks() const {
  std::vector<MemoryAtMoment> peaks(all_.devices.size());
  for (uint32_t device = 0; device < peaks.size(); ++device) peaks[device].device = device;
  walk({}, [&](const MemoryAtMoment& now) {
    MemoryAtMoment& peak = peaks[now.device];
    if (now.total_bytes() > peak.total_bytes()) peak = now;
  });
  return peaks;
}

}  // namespace stepscope
