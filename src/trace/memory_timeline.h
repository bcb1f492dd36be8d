// MemoryTimeline: how much memory of each category a device held, over time. Made once per trace
// and kept with it; the view, the picture and the file are walks over it. Where the trace came from
// torch's own memory timeline, the categories are torch's: its counters tell them.
//
//   const auto timeline = MemoryTimeline::of(trace);
//   timeline->walk({}, [&](const MemoryAtMoment& now) { peak = std::max(peak, now.total_bytes());
//   });
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/saturating.h"
#include "trace/allocation_lifetimes.h"
#include "trace/memory_category.h"
#include "trace/trace.h"

namespace stepscope {

// What a device holds from a moment on, until the next one.
struct MemoryAtMoment {
  int64_t time_ns = 0;
  uint32_t device = 0;  // into MemoryTimeline::devices()
  std::array<int64_t, kMemoryCategoryCount> bytes{};

  int64_t total_bytes() const {
    int64_t sum = 0;
    for (const int64_t part : bytes) sum = add_saturating(sum, part);
    return sum;
  }
};

class MemoryTimeline {
 public:
  static std::shared_ptr<const MemoryTimeline> of(const Trace& trace);

  const std::vector<AllocationDevice>& devices() const { return all_.devices; }
  // Whether the categories are our own judgement, not the file's.
  bool is_judged() const { return counted_.empty(); }
  // Addresses that were taken twice.
  uint64_t unseen_frees() const { return all_.unseen_frees; }
  // What it is made of, and the category of each; none where the categories are the file's.
  const AllocationLifetimes& lifetimes() const { return all_; }
  const std::vector<MemoryCategory>& categories() const { return categories_; }
  // Whether any memory is of that category.
  bool has(MemoryCategory category) const;
  // Whether any memory has a category: without the scopes of a training program all is unknown.
  bool has_categories() const;

  // Calls on_moment for each moment at which memory of a device changed, in order of time; first
  // for the trace's begin, where memory was there before. With `takes`, only the memory of
  // lifetimes that it takes counts; counters have no lifetimes, and all of their memory counts.
  using Takes = std::function<bool(const Lifetime&)>;
  void walk(const Takes& takes, const std::function<void(const MemoryAtMoment&)>& on_moment) const;

  // The highest total of each device, by device, when it was first reached.
  std::vector<MemoryAtMoment> find_peaks() const;

 private:
  struct CounterValue {
    int64_t time_ns;
    int64_t bytes;
    MemoryCategory category;
  };

  explicit MemoryTimeline(const Trace& trace);
  bool read_counters(const Trace& trace);
  void walk_counters(const std::function<void(const MemoryAtMoment&)>& on_moment) const;

  std::vector<CounterValue> counted_;  // by time; empty where the categories are our own judgement
  AllocationLifetimes all_;
  std::vector<MemoryCategory> categories_;  // by lifetime
};

}  // namespace stepscope
