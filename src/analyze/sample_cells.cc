#include "analyze/sample_cells.h"

#include <algorithm>
#include <unordered_map>

namespace stepscope {
namespace {

// How far a look reaches on the timeline of its kind, in its own weights: looks come by chance
// there.
constexpr int64_t kReach = 5;

struct PlacedLook {
  int64_t at_ns;  // on the kind's timeline
  int64_t reach_ns;
  uint32_t look;
};

struct PlacedRegion {
  int64_t begin_ns;  // on the kind's timeline
  uint32_t region;
  size_t first_look, end_look;  // those that were taken in it, of the kind's
};

struct Kind {
  int64_t length_ns = 0;
  std::vector<PlacedRegion> regions;
  std::vector<PlacedLook> looks;
};

// The cells of one kind.
class KindCells {
 public:
  KindCells(const Kind& kind, std::span<const SampleRegion> regions, std::vector<SampleCell>& cells)
      : kind_(kind), regions_(regions), cells_(cells) {}

  void add_all() {
    for (const PlacedRegion& placed : kind_.regions) add(placed);
  }

 private:
  // Where the look's time begins and ends on the timeline, among looks from `first` to `end`.
  int64_t begin_of(size_t i, size_t first) const {
    const PlacedLook& look = kind_.looks[i];
    const int64_t least_ns = look.at_ns - look.reach_ns;
    return i == first ? least_ns : std::max(least_ns, middle(i - 1));
  }
  int64_t end_of(size_t i, size_t end) const {
    const PlacedLook& look = kind_.looks[i];
    const int64_t most_ns = look.at_ns + look.reach_ns;
    return i + 1 == end ? most_ns : std::min(most_ns, middle(i));
  }
  int64_t middle(size_t i) const {
    return kind_.looks[i].at_ns + (kind_.looks[i + 1].at_ns - kind_.looks[i].at_ns) / 2;
  }

  void add(const PlacedRegion& placed) {
    const Interval& time = regions_[placed.region].time;
    const int64_t end_ns = placed.begin_ns + (time.end_ns - time.begin_ns);
    const int64_t shift_ns = time.begin_ns - placed.begin_ns;
    // A region with looks of its own is theirs alone.
    const bool has_own = placed.first_look < placed.end_look;
    const size_t first = has_own ? placed.first_look : 0;
    const size_t end = has_own ? placed.end_look : kind_.looks.size();
    // Without, the nearest is the last one before it or the first one after it.
    size_t next = has_own || placed.first_look == 0 ? placed.first_look : placed.first_look - 1;
    int64_t at_ns = placed.begin_ns;
    while (at_ns < end_ns) {
      while (next < end && end_of(next, end) <= at_ns) ++next;
      const bool is_over = next == end;
      const bool is_looked_at = !is_over && begin_of(next, first) <= at_ns;
      int64_t until_ns = end_ns;
      if (!is_over) {
        until_ns = std::min(end_ns, is_looked_at ? end_of(next, end) : begin_of(next, first));
      }
      cells_.push_back({{at_ns + shift_ns, until_ns + shift_ns},
                        placed.region,
                        is_looked_at ? kind_.looks[next].look : kNoLook});
      at_ns = until_ns;
    }
  }

  const Kind& kind_;
  const std::span<const SampleRegion> regions_;
  std::vector<SampleCell>& cells_;
};

}  // namespace

std::vector<SampleCell> find_sample_cells(std::span<const SampleRegion> regions,
                                          std::span<const SampleLook> looks) {
  std::unordered_map<uint64_t, Kind> kinds;
  uint32_t look = 0;
  for (uint32_t i = 0; i < regions.size(); ++i) {
    const Interval& time = regions[i].time;
    Kind& kind = kinds[regions[i].kind];
    const size_t first_look = kind.looks.size();
    while (look < looks.size() && looks[look].time_ns < time.begin_ns) ++look;
    for (; look < looks.size() && looks[look].time_ns < time.end_ns; ++look) {
      kind.looks.push_back({kind.length_ns + looks[look].time_ns - time.begin_ns,
                            kReach * std::max<int64_t>(1, looks[look].weight_ns), look});
    }
    kind.regions.push_back({kind.length_ns, i, first_look, kind.looks.size()});
    kind.length_ns += time.end_ns - time.begin_ns;
  }
  std::vector<SampleCell> cells;
  for (const auto& [number, kind] : kinds) KindCells(kind, regions, cells).add_all();
  std::sort(cells.begin(), cells.end(), [](const SampleCell& a, const SampleCell& b) {
    return a.time.begin_ns < b.time.begin_ns;
  });
  return cells;
}

}  // namespace stepscope
