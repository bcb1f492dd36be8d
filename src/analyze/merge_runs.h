// merge_runs(): a stable sort for what comes track after track, each in order of time. Finds the
// runs that are in order already and merges them; linear where there is one, n log(tracks)
// otherwise.
//
//   merge_runs(calls, [](const Call& a, const Call& b) { return a.begin_ns < b.begin_ns; });
//
// Slow equivalent: std::stable_sort.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace stepscope {

template <typename T, typename Less>
void merge_runs(std::vector<T>& items, Less less) {
  std::vector<size_t> ends;  // of the runs
  for (size_t i = 1; i <= items.size(); ++i) {
    if (i == items.size() || less(items[i], items[i - 1])) ends.push_back(i);
  }
  const auto at = [&](size_t i) { return items.begin() + static_cast<ptrdiff_t>(i); };
  while (ends.size() > 1) {
    std::vector<size_t> merged;
    size_t begin = 0;
    for (size_t run = 0; run < ends.size(); run += 2) {
      const size_t end = run + 1 < ends.size() ? ends[run + 1] : ends[run];
      if (run + 1 < ends.size()) std::inplace_merge(at(begin), at(ends[run]), at(end), less);
      merged.push_back(end);
      begin = end;
    }
    ends.swap(merged);
  }
}

}  // namespace stepscope
