#include "analyze/call_stats.h"

#include "base/saturating.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

namespace stepscope {
namespace {

void add_figures(CallFigures& sum, const CallFigures& figures) {
  sum.calls = add_saturating(figures.calls, sum.calls);
  sum.primitive_calls = add_saturating(figures.primitive_calls, sum.primitive_calls);
  sum.self_s = figures.self_s + sum.self_s;
  sum.total_s = figures.total_s + sum.total_s;
}

// The callers of one entry by function, for sums: an entry with many callers is not searched
// through for each.
class CallerIndex {
 public:
  explicit CallerIndex(size_t functions) : place_(functions), entry_(functions, 0) {}

  void start(const std::vector<CallProfile::Caller>& callers) {
    ++serial_;
    for (size_t i = 0; i < callers.size(); ++i) set(callers[i].function, i);
  }
  void set(uint32_t function, size_t place) {
    if (function >= entry_.size()) {
      entry_.resize(function + size_t{1}, 0);
      place_.resize(entry_.size());
    }
    entry_[function] = serial_;
    place_[function] = place;
  }
  const size_t* find(uint32_t function) const {
    const bool is_there = function < entry_.size() && entry_[function] == serial_;
    return is_there ? &place_[function] : nullptr;
  }

 private:
  std::vector<size_t> place_;
  std::vector<uint64_t> entry_;
  uint64_t serial_ = 0;
};

Status add_callers(std::vector<CallProfile::Caller>& sum,
                   std::span<const CallProfile::Caller> callers, CallerIndex& index) {
  index.start(sum);
  for (const CallProfile::Caller& caller : callers) {
    const size_t* place = index.find(caller.function);
    if (place == nullptr) {
      index.set(caller.function, sum.size());
      sum.push_back(caller);
      continue;
    }
    if (sum[*place].has_times != caller.has_times) {
      return Status::error("profiles with and without times of callers can not be added");
    }
    add_figures(sum[*place].figures, caller.figures);
  }
  return {};
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace

CallStats::Totals CallStats::totals() const {
  Totals totals;
  for (const CallProfile::Entry& entry : profile_.entries()) {
    totals.calls = add_saturating(totals.calls, entry.figures.calls);
    totals.primitive_calls = add_saturating(totals.primitive_calls, entry.figures.primitive_calls);
    totals.self_s += entry.figures.self_s;
    totals.name_width = std::max(totals.name_width, standard_width(entry.function));
    const auto is_profiler = [&](const CallProfile::Caller& caller) {
      const CallProfile::Function& function = profile_.functions()[caller.function];
      return function.line == 0 && profile_.string(function.file) == "jprofile" &&
             profile_.string(function.name) == "profiler";
    };
    if (std::any_of(entry.callers.begin(), entry.callers.end(), is_profiler)) {
      totals.top_level.push_back(entry.function);
    }
  }
  return totals;
}

Status CallStats::add(const CallStats& other) {
  std::vector<uint32_t> number;  // here, of the other's functions
  for (const CallProfile::Function& function : other.profile_.functions()) {
    number.push_back(profile_.add_function(other.profile_.string(function.file), function.line,
                                           other.profile_.string(function.name)));
  }
  CallerIndex index(profile_.functions().size());
  std::vector<CallProfile::Caller> callers;
  for (size_t i = 0; i < other.profile_.entries().size(); ++i) {
    const CallProfile::Entry& from = other.profile_.entries()[i];
    callers = from.callers;
    for (CallProfile::Caller& caller : callers) caller.function = number[caller.function];
    const CallFigures figures = from.figures;  // `other` may be this one
    CallProfile::Entry& entry = profile_.add_entry(number[from.function]);
    add_figures(entry.figures, figures);
    if (Status status = add_callers(entry.callers, callers, index); !status) return status;
  }
  return {};
}

Result<CallStats> CallStats::without_folders() const {
  CallProfile stripped;
  std::vector<uint32_t> number;
  for (const CallProfile::Function& function : profile_.functions()) {
    number.push_back(stripped.add_function(base_name(profile_.string(function.file)), function.line,
                                           profile_.string(function.name)));
  }
  CallerIndex index(stripped.functions().size());
  std::vector<CallProfile::Caller> callers;
  for (const CallProfile::Entry& from : profile_.entries()) {
    // Callers of one function that have become the same are not summed up: the last one stays.
    callers.clear();
    index.start(callers);
    for (CallProfile::Caller caller : from.callers) {
      caller.function = number[caller.function];
      if (const size_t* place = index.find(caller.function)) {
        callers[*place] = caller;
      } else {
        index.set(caller.function, callers.size());
        callers.push_back(caller);
      }
    }
    const bool is_new = stripped.find_entry(number[from.function]) == nullptr;
    CallProfile::Entry& entry = stripped.add_entry(number[from.function]);
    if (is_new) {
      entry.figures = from.figures;
      entry.callers = callers;
      continue;
    }
    add_figures(entry.figures, from.figures);
    if (Status status = add_callers(entry.callers, callers, index); !status) return status;
  }
  return CallStats(std::move(stripped));
}

CallStats::Rows CallStats::rows() const {
  Rows rows(profile_.entries().size());
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

CallStats::Rows CallStats::sort(std::span<const SortKey> keys) const {
  const auto entries = profile_.entries();
  std::vector<std::string> standard_names;
  if (std::any_of(keys.begin(), keys.end(),
                  [](SortKey key) { return key.field == Field::kStandardName; })) {
    for (const CallProfile::Entry& entry : entries) {
      standard_names.push_back(standard_name(entry.function));
    }
  }
  const auto order = [](const auto& a, const auto& b) { return a < b ? -1 : b < a ? 1 : 0; };
  const auto compare = [&](Field field, uint32_t a, uint32_t b) {
    const CallFigures &left = entries[a].figures, &right = entries[b].figures;
    const CallProfile::Function& f = profile_.functions()[entries[a].function];
    const CallProfile::Function& g = profile_.functions()[entries[b].function];
    switch (field) {
      case Field::kPrimitiveCalls:
        return order(left.primitive_calls, right.primitive_calls);
      case Field::kCalls:
        return order(left.calls, right.calls);
      case Field::kSelf:
        return order(left.self_s, right.self_s);
      case Field::kTotal:
        return order(left.total_s, right.total_s);
      case Field::kFile:
        return profile_.string(f.file).compare(profile_.string(g.file));
      case Field::kLine:
        return order(f.line, g.line);
      case Field::kName:
        return profile_.string(f.name).compare(profile_.string(g.name));
      case Field::kStandardName:
        break;
    }
    return standard_names[a].compare(standard_names[b]);
  };
  Rows sorted = rows();
  std::stable_sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) {
    for (const SortKey key : keys) {
      const int result = compare(key.field, a, b);
      if (result != 0) return key.is_descending ? result > 0 : result < 0;
    }
    return false;
  });
  return sorted;
}

const std::vector<std::vector<CallStats::Callee>>& CallStats::callees() {
  if (callees_) return *callees_;
  callees_.emplace(profile_.functions().size());
  for (const CallProfile::Entry& entry : profile_.entries()) {
    for (const CallProfile::Caller& caller : entry.callers) {
      (*callees_)[caller.function].push_back({entry.function, caller});
    }
  }
  return *callees_;
}

}  // namespace stepscope
