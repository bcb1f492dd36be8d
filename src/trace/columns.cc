#include "trace/columns.h"

#include "trace/prefault.h"

namespace stepscope {

void DurationColumn::reserve_to_fill(size_t rows) { stepscope::reserve_to_fill(short_ns_, rows); }

void DurationColumn::set(uint32_t row, int64_t dur_ns) {
  if (dur_ns < kLong) {
    short_ns_[row] = static_cast<uint32_t>(dur_ns);
  } else {
    short_ns_[row] = kLong;
    set_ns_[row] = dur_ns;
  }
}

void DurationColumn::settle() {
  // Entries of rows that became short are left over, as are those that were set again.
  std::erase_if(long_ns_, [&](const auto& entry) {
    return short_ns_[entry.first] != kLong || set_ns_.contains(entry.first);
  });
  if (set_ns_.empty()) return;
  for (const auto& entry : set_ns_) {
    if (short_ns_[entry.first] == kLong) long_ns_.emplace_back(entry);
  }
  set_ns_ = {};
  std::sort(long_ns_.begin(), long_ns_.end());
}

void DurationColumn::append(std::span<const uint32_t> shorts,
                            std::span<const std::pair<uint32_t, int64_t>> longs) {
  const uint32_t base = static_cast<uint32_t>(short_ns_.size());
  short_ns_.insert(short_ns_.end(), shorts.begin(), shorts.end());
  for (const auto& [row, dur_ns] : longs) long_ns_.emplace_back(base + row, dur_ns);
}

int64_t DurationColumn::find_long(uint32_t row) const {
  if (!set_ns_.empty()) {
    const auto at = set_ns_.find(row);
    if (at != set_ns_.end()) return at->second;
  }
  const auto at = std::lower_bound(long_ns_.begin(), long_ns_.end(), row,
                                   [](const auto& entry, uint32_t r) { return entry.first < r; });
  return at != long_ns_.end() && at->first == row ? at->second : int64_t{kLong};
}

void IntColumn::reserve_to_fill(size_t rows) {
  if (wide_) {
    stepscope::reserve_to_fill(wide_values_, rows);
  } else {
    stepscope::reserve_to_fill(narrow_values_, rows);
  }
}

void IntColumn::widen() {
  if (wide_) return;
  wide_values_.assign(narrow_values_.begin(), narrow_values_.end());
  narrow_values_ = {};
  wide_ = true;
}

void IntColumn::append(std::span<const int32_t> values) {
  if (wide_) {
    wide_values_.insert(wide_values_.end(), values.begin(), values.end());
  } else {
    narrow_values_.insert(narrow_values_.end(), values.begin(), values.end());
  }
}

void IntColumn::append(std::span<const int64_t> values) {
  for (const int64_t value : values) push_back(value);
}

}  // namespace stepscope
