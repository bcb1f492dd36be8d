#include "analyze/memory_flow.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <tuple>

#include "analyze/operator_rules.h"
#include "base/saturating.h"
#include "trace/allocation_lifetimes.h"
#include "trace/memory_timeline.h"

namespace stepscope {
namespace {

struct Peak {
  int64_t bytes = 0;
  int64_t time_ns = 0;
};

// By space. What happens at one moment counts together.
std::vector<Peak> find_peaks(const AllocationLifetimes& all) {
  struct Change {
    int64_t time_ns;
    uint32_t space;
    int64_t bytes;
  };
  std::vector<Change> changes;
  changes.reserve(2 * all.lifetimes.size());
  for (const Lifetime& life : all.lifetimes) {
    changes.push_back({life.begin_ns, life.space, life.bytes});
    if (!life.is_open()) changes.push_back({life.end_ns, life.space, -life.bytes});
  }
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::tuple(a.space, a.time_ns) < std::tuple(b.space, b.time_ns);
  });
  std::vector<Peak> peaks(all.spaces.size());
  int64_t held_bytes = 0;
  for (size_t i = 0; i < changes.size(); ++i) {
    const Change& change = changes[i];
    held_bytes = add_saturating(held_bytes, change.bytes);
    const bool is_last_of_space = i + 1 == changes.size() || changes[i + 1].space != change.space;
    if (is_last_of_space || changes[i + 1].time_ns != change.time_ns) {
      Peak& peak = peaks[change.space];
      if (held_bytes > peak.bytes) peak = {held_bytes, change.time_ns};
    }
    if (is_last_of_space) held_bytes = 0;
  }
  return peaks;
}

class FlowBuilder {
 public:
  explicit FlowBuilder(const Trace& trace)
      : trace_(trace),
        allocations_(trace.allocations()),
        timeline_(MemoryTimeline::of(trace)),
        all_(timeline_->lifetimes()) {}

  MemoryFlow build(const MemoryFlowOptions& options) {
    flow_.is_judged = timeline_->is_judged();
    add_devices();
    const auto chosen = std::find_if(
        flow_.devices.begin(), flow_.devices.end(), [&](const MemoryFlowDevice& device) {
          return options.device.empty() || device.name == options.device;
        });
    flow_.device = static_cast<size_t>(chosen - flow_.devices.begin());
    if (chosen == flow_.devices.end()) return std::move(flow_);
    const uint32_t space = spaces_[flow_.device];
    flow_.peak_bytes = peaks_[space].bytes;
    flow_.peak_ns = subtract_saturating(peaks_[space].time_ns, trace_.begin_ns());
    add_rectangles(choose(space, options.limit));
    cut_gaps();
    return std::move(flow_);
  }

 private:
  void add_devices() {
    peaks_ = find_peaks(all_);
    spaces_.resize(all_.spaces.size());
    std::iota(spaces_.begin(), spaces_.end(), 0u);
    std::stable_sort(spaces_.begin(), spaces_.end(),
                     [&](uint32_t a, uint32_t b) { return peaks_[a].bytes > peaks_[b].bytes; });
    std::map<uint32_t, int> processes;  // by device: how many have it
    for (const MemorySpace& space : all_.spaces) ++processes[space.device];
    for (const uint32_t id : spaces_) {
      const MemorySpace& space = all_.spaces[id];
      std::string name = device_name(all_.devices[space.device]);
      if (processes[space.device] > 1) {
        name += ", process " + trace_.id_text(trace_.processes()[space.process].pid);
      }
      flow_.devices.push_back({std::move(name), space.process, peaks_[id].bytes});
    }
  }

  uint64_t address_of(const Lifetime& life) const {
    const uint32_t row = life.was_there_before() ? life.freed_row : life.taken_row;
    return row == kNoAllocation ? 0 : allocations_.address[row];
  }

  // The largest lifetimes of the space, by begin.
  std::vector<uint32_t> choose(uint32_t space, size_t limit) {
    std::vector<uint32_t> chosen;
    const std::vector<Lifetime>& lives = all_.lifetimes;
    for (uint32_t id = 0; id < lives.size(); ++id) {
      if (lives[id].space != space) continue;
      if (address_of(lives[id]) == 0) {
        ++flow_.without_address;
      } else {
        chosen.push_back(id);
      }
    }
    flow_.total = chosen.size();
    if (chosen.size() > limit) {
      std::stable_sort(chosen.begin(), chosen.end(),
                       [&](uint32_t a, uint32_t b) { return lives[a].bytes > lives[b].bytes; });
      for (size_t i = limit; i < chosen.size(); ++i) {
        flow_.left_out_bytes = add_saturating(flow_.left_out_bytes, lives[chosen[i]].bytes);
      }
      flow_.left_out = chosen.size() - limit;
      chosen.resize(limit);
    }
    std::sort(chosen.begin(), chosen.end(), [&](uint32_t a, uint32_t b) {
      return std::tuple(lives[a].begin_ns, a) < std::tuple(lives[b].begin_ns, b);
    });
    return chosen;
  }

  // The innermost operator that was running, else what was.
  std::string_view operator_around(const OperatorRules& rules, SliceId slice) const {
    const SliceColumns& slices = trace_.slices();
    for (SliceId at = slice; at != kNoSlice; at = slices.parent[index(at)]) {
      const HostRole role = rules.role(slices.label[index(at)]);
      if (role == HostRole::kOperator || role == HostRole::kScope) return trace_.slice_name(at);
    }
    return slice == kNoSlice ? std::string_view() : trace_.slice_name(slice);
  }

  void add_rectangles(const std::vector<uint32_t>& chosen) {
    const OperatorRules rules(trace_);
    for (const uint32_t id : chosen) {
      const Lifetime& life = all_.lifetimes[id];
      MemoryRectangle& rectangle = flow_.rectangles.emplace_back();
      rectangle.address = address_of(life);
      rectangle.bytes = life.bytes;
      rectangle.is_open = life.is_open();
      rectangle.begin_ns = subtract_saturating(life.begin_ns, trace_.begin_ns());
      rectangle.end_ns =
          subtract_saturating(life.is_open() ? trace_.end_ns() : life.end_ns, trace_.begin_ns());
      rectangle.category = timeline_->categories()[id];
      if (life.was_there_before()) continue;
      rectangle.slice = allocations_.slice[life.taken_row];
      rectangle.operator_name = operator_around(rules, rectangle.slice);
    }
  }

  static uint64_t end_of(const MemoryRectangle& rectangle) {
    const auto bytes = static_cast<uint64_t>(rectangle.bytes);
    const uint64_t room = std::numeric_limits<uint64_t>::max() - rectangle.address;
    return rectangle.address + std::min(bytes, room);
  }

  // Parts of the address space that rectangles cover, apart where nothing lies between for more
  // than `gap` bytes.
  std::vector<AddressRange> find_ranges(const std::vector<uint32_t>& by_address,
                                        uint64_t gap) const {
    std::vector<AddressRange> ranges;
    uint64_t end = 0;
    for (const uint32_t at : by_address) {
      const MemoryRectangle& rectangle = flow_.rectangles[at];
      if (ranges.empty() || (rectangle.address > end && rectangle.address - end > gap)) {
        ranges.push_back({.address = rectangle.address});
        end = rectangle.address;
      }
      end = std::max(end, end_of(rectangle));
      ranges.back().bytes = end - ranges.back().address;
    }
    return ranges;
  }

  // A gap of more than a hundredth of what is used is cut out.
  void cut_gaps() {
    std::vector<uint32_t> by_address(flow_.rectangles.size());
    std::iota(by_address.begin(), by_address.end(), 0u);
    std::sort(by_address.begin(), by_address.end(), [&](uint32_t a, uint32_t b) {
      return flow_.rectangles[a].address < flow_.rectangles[b].address;
    });
    uint64_t used_bytes = 0;
    for (const AddressRange& range : find_ranges(by_address, 0)) used_bytes += range.bytes;
    flow_.ranges = find_ranges(by_address, used_bytes / 100);
    uint64_t offset = 0;
    for (AddressRange& range : flow_.ranges) {
      range.offset = offset;
      offset += range.bytes;
    }
    size_t range = 0;
    for (const uint32_t at : by_address) {
      MemoryRectangle& rectangle = flow_.rectangles[at];
      while (range + 1 < flow_.ranges.size() &&
             flow_.ranges[range + 1].address <= rectangle.address) {
        ++range;
      }
      rectangle.offset =
          flow_.ranges[range].offset + (rectangle.address - flow_.ranges[range].address);
    }
  }

  const Trace& trace_;
  const AllocationColumns& allocations_;
  const std::shared_ptr<const MemoryTimeline> timeline_;  // of the trace, kept with it
  const AllocationLifetimes& all_;
  std::vector<Peak> peaks_;       // by space
  std::vector<uint32_t> spaces_;  // in the order of flow_.devices
  MemoryFlow flow_;
};

}  // namespace

MemoryFlow build_memory_flow(const Trace& trace, const MemoryFlowOptions& options) {
  return FlowBuilder(trace).build(options);
}

}  // namespace stepscope
