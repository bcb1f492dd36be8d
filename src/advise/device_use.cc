#include "advise/device_use.h"

#include <algorithm>
#include <map>

#include "analyze/operator_rules.h"

namespace stepscope {
namespace {

enum class Work : uint8_t { kNone, kKernel, kCommunication, kCopy, kFill };

class Finder {
 public:
  explicit Finder(const Case& c) : c_(c), slices_(c.trace.slices()) {
    for (const Label& label : c.trace.labels().all()) {
      Work work = Work::kNone;
      if (label.kind == SliceKind::kKernel) {
        work = is_communication_kernel(c.trace.string(label.name)) ? Work::kCommunication
                                                                   : Work::kKernel;
      } else if (label.kind == SliceKind::kMemcpy) {
        work = Work::kCopy;
      } else if (label.kind == SliceKind::kMemset) {
        work = Work::kFill;
      }
      work_.push_back(work);
    }
  }

  DeviceUse run() {
    for (const Track& track : c_.trace.tracks()) {
      if (track.kind == TrackKind::kStream) add(track);
    }
    for (auto& [device, one] : devices_) {
      one.busy.normalize();
      one.use.busy_ns = one.busy.total_ns();
      if (one.use.kernels > 0) found_.devices.push_back(one.use);
    }
    std::stable_sort(found_.devices.begin(), found_.devices.end(),
                     [](const auto& a, const auto& b) { return a.busy_ns > b.busy_ns; });
    for (IntervalSet* set : {&kernels_, &communication_, &copies_, &fills_}) set->normalize();
    found_.copies_ns = copies_.total_ns();
    found_.busy = kernels_;
    const auto add_exposed = [&](const IntervalSet& set) {
      const int64_t before_ns = found_.busy.total_ns();
      found_.busy.unite(set);
      return found_.busy.total_ns() - before_ns;
    };
    found_.communication_ns = add_exposed(communication_);
    found_.copy_ns = add_exposed(copies_);
    add_exposed(fills_);
    IntervalSet waits = c_.input.waits;
    waits.intersect(c_.times);
    waits.subtract(found_.busy);
    found_.input_wait_ns = waits.total_ns();
    return std::move(found_);
  }

 private:
  struct Device {
    DeviceUse::One use;
    IntervalSet busy;
  };

  void add(const Track& track) {
    Device& device = devices_[track.device];
    device.use.device = track.device;
    const std::vector<Interval>& times = c_.times.intervals();
    auto time = times.begin();
    for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
      const Work work = work_[index(slices_.label[row])];
      if (work == Work::kNone) continue;
      const int64_t end_ns = slices_.end_ns(row);
      while (time != times.end() && time->end_ns <= slices_.start_ns[row]) ++time;
      if (time == times.end()) return;
      if (end_ns <= time->begin_ns) continue;
      // Steps follow each other, or work lies in one: what goes from one into the next counts whole
      // where they touch, and for the first where not.
      add(device, work, row,
          {std::max(slices_.start_ns[row], time->begin_ns), std::min(end_ns, time->end_ns)});
    }
  }

  void add(Device& device, Work work, uint32_t row, const Interval& in) {
    switch (work) {
      case Work::kKernel:
        kernels_.add(in.begin_ns, in.end_ns);
        break;
      case Work::kCommunication:
        communication_.add(in.begin_ns, in.end_ns);
        note_longest(row, found_.longest_communication);
        break;
      case Work::kCopy:
        copies_.add(in.begin_ns, in.end_ns);
        note_longest(row, found_.longest_copy);
        return;
      default:
        fills_.add(in.begin_ns, in.end_ns);
        return;
    }
    device.busy.add(in.begin_ns, in.end_ns);
    device.use.kernel_ns += in.end_ns - in.begin_ns;
    ++device.use.kernels;
  }

  void note_longest(uint32_t row, SliceId& longest) const {
    if (longest == kNoSlice || slices_.dur_ns[row] > slices_.dur_ns[index(longest)]) {
      longest = SliceId{row};
    }
  }

  const Case& c_;
  const SliceColumns& slices_;
  std::vector<Work> work_;  // by label
  std::map<int32_t, Device> devices_;
  IntervalSet kernels_, communication_, copies_, fills_;
  DeviceUse found_;
};

}  // namespace

std::shared_ptr<const DeviceUse> DeviceUse::of(const Case& c) {
  return c.trace.derived().get<DeviceUse>("device use", [&] { return Finder(c).run(); });
}

bool is_idle_for_input(const Case& c, const DeviceUse& use) {
  if (use.empty()) return false;
  return 2 * use.input_wait_ns >= c.recorded_ns - use.busy.total_ns();
}

}  // namespace stepscope
