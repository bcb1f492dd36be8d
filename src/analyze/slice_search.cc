#include "analyze/slice_search.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "analyze/pattern.h"

namespace stepscope {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

// What a text must hold. RE2 knows the cases of all letters, also for plain texts.
Result<Pattern> make_test(std::string_view text) {
  const bool is_plain = text.size() <= 2 || text.front() != '/' || text.back() != '/';
  if (!is_plain) text = text.substr(1, text.size() - 2);
  return Pattern::make(text, {.is_plain = is_plain, .ignores_case = true});
}

// The first `limit` slices by start, of slices that come track by track.
class FirstByStart {
 public:
  FirstByStart(const Trace& trace, size_t limit)
      : starts_ns_(trace.slices().start_ns), limit_(limit) {}

  // Whether a later slice of the same track can still be among them.
  bool offer(uint32_t row) {
    if (limit_ == 0) return false;
    const std::pair<int64_t, uint32_t> place{starts_ns_[row], row};
    if (heap_.size() == limit_) {
      if (place > heap_.front()) return false;
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.back() = place;
    } else {
      heap_.push_back(place);
    }
    std::push_heap(heap_.begin(), heap_.end());
    return true;
  }

  std::vector<SlicePlace> take(const Trace& trace) {
    std::sort_heap(heap_.begin(), heap_.end());
    std::vector<SlicePlace> places;
    places.reserve(heap_.size());
    for (const auto& [start_ns, row] : heap_) {
      places.push_back(place_of_slice(trace, SliceId{row}));
    }
    return places;
  }

 private:
  const std::vector<int64_t>& starts_ns_;
  const size_t limit_;
  std::vector<std::pair<int64_t, uint32_t>> heap_;  // the latest on top
};

FoundSlices search_names(const Trace& trace, const Pattern& test, size_t limit) {
  std::vector<uint8_t> takes(trace.labels().size());
  bool any = false;
  for (size_t i = 0; i < takes.size(); ++i) {
    takes[i] = test.matches(trace.string(trace.labels().all()[i].name));
    any = any || takes[i] != 0;
  }
  FoundSlices found;
  if (!any) return found;
  FirstByStart first(trace, limit);
  const std::vector<LabelId>& labels = trace.slices().label;
  for (const Track& track : trace.tracks()) {
    uint32_t row = track.first_slice;
    const uint32_t end = track.first_slice + track.slice_count;
    for (bool goes_on = true; goes_on && row < end; ++row) {
      if (takes[index(labels[row])] == 0) continue;
      ++found.total;
      goes_on = first.offer(row);
    }
    // What follows is only counted.
    for (; row < end; ++row) found.total += takes[index(labels[row])];
  }
  found.matches = first.take(trace);
  return found;
}

// Whether a value of an argument is the one that is looked for.
class ValueTest {
 public:
  static Result<ValueTest> make(const Trace& trace, std::string_view text) {
    Result<Pattern> test = make_test(text);
    if (!test) return test.status();
    return ValueTest(trace, text, *std::move(test));
  }

  bool matches(const ArgColumn& column, size_t at) {
    if (takes_all_) return true;
    switch (column.type) {
      case ArgType::kInt:
        return int_ ? column.ints[at] == *int_
                    : double_ && static_cast<double>(column.ints[at]) == *double_;
      case ArgType::kDouble:
        return double_ && column.doubles[at] == *double_;
      case ArgType::kBool:
        return column.ints[at] != 0 ? text_ == "true" || text_ == "1"
                                    : text_ == "false" || text_ == "0";
      case ArgType::kString:
      case ArgType::kJson:
        return matches(column.string(at));
    }
    return false;
  }

 private:
  ValueTest(const Trace& trace, std::string_view text, Pattern test)
      : trace_(trace), test_(std::move(test)), text_(lower(text)), takes_all_(text.empty()) {
    const char* end = text.data() + text.size();
    int64_t whole = 0;
    if (const auto [at, error] = std::from_chars(text.data(), end, whole);
        error == std::errc() && at == end) {
      int_ = whole;
    }
    double number = 0;
    if (const auto [at, error] = std::from_chars(text.data(), end, number);
        error == std::errc() && at == end) {
      double_ = number;
    }
  }

  bool matches(StringId id) {
    if (known_.empty()) known_.assign(trace_.strings().size(), kUnknown);
    uint8_t& answer = known_[index(id)];
    if (answer == kUnknown) answer = test_.matches(trace_.string(id)) ? kYes : kNo;
    return answer == kYes;
  }

  enum : uint8_t { kUnknown, kNo, kYes };

  const Trace& trace_;
  Pattern test_;
  std::string text_;
  bool takes_all_;
  std::optional<int64_t> int_;
  std::optional<double> double_;
  std::vector<uint8_t> known_;  // by StringId
};

std::vector<const ArgColumn*> find_columns(const Trace& trace, std::string_view key) {
  std::vector<const ArgColumn*> columns;
  const std::string wanted = lower(key);
  for (const ArgColumn& column : trace.args()) {
    if (lower(trace.string(column.key)) == wanted) columns.push_back(&column);
  }
  return columns;
}

FoundSlices search_arguments(const Trace& trace, const std::vector<const ArgColumn*>& columns,
                             ValueTest& test, size_t limit) {
  std::vector<SliceId> rows;
  for (const ArgColumn* column : columns) {
    for (size_t i = 0; i < column->rows.size(); ++i) {
      if (test.matches(*column, i)) rows.push_back(column->rows[i]);
    }
  }
  // A slice may have the key in several types.
  if (columns.size() > 1) {
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  }
  FirstByStart first(trace, limit);
  for (const SliceId row : rows) first.offer(index(row));
  FoundSlices found;
  found.total = rows.size();
  found.matches = first.take(trace);
  return found;
}

}  // namespace

Result<FoundSlices> search_slices(const Trace& trace, std::string_view query, size_t limit) {
  if (query.empty()) return FoundSlices{};
  const size_t colon = query.find(':');
  if (colon != std::string_view::npos && query.front() != '/') {
    const auto columns = find_columns(trace, query.substr(0, colon));
    if (!columns.empty()) {
      std::string_view value = query.substr(colon + 1);
      while (value.starts_with(' ')) value.remove_prefix(1);
      Result<ValueTest> test = ValueTest::make(trace, value);
      if (!test) return test.status();
      return search_arguments(trace, columns, *test, limit);
    }
  }
  const Result<Pattern> test = make_test(query);
  if (!test) return test.status();
  return search_names(trace, *test, limit);
}

}  // namespace stepscope
