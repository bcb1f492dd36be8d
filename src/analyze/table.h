// Table: the result of every analysis. Typed columns with units; text, JSON, CSV, Markdown, Arrow
// and SQL are renderers of it. Times are integers in ns, sizes in bytes, fractions 0..1, missing is
// null.
//
//   Table table("kernels");
//   Column& name = table.add("name", ColumnType::kString);
//   Column& calls = table.add("calls", ColumnType::kInt, Unit::kCount);
//   name.push("volta_sgemm"); calls.push(int64_t{17});
//
// Columns are kept at fixed addresses, so references to them stay valid while others are added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/stats.h"

namespace stepscope {

enum class ColumnType : uint8_t { kInt, kDouble, kString, kBool };
enum class Unit : uint8_t { kNone, kNs, kBytes, kFraction, kCount };
std::string_view unit_name(Unit unit);  // "", "ns", "bytes", "fraction", "count"

class Column {
 public:
  Column(std::string name, ColumnType type, Unit unit)
      : name_(std::move(name)), type_(type), unit_(unit) {}

  const std::string& name() const { return name_; }
  ColumnType type() const { return type_; }
  Unit unit() const { return unit_; }
  size_t size() const { return null_.size(); }

  void push(int64_t value);           // kInt, kBool; kDouble as well
  void push(double value);            // kDouble; NaN is null
  void push(std::string_view value);  // kString
  void push_null();

  bool is_null(size_t row) const { return null_[row] != 0; }
  int64_t get_int(size_t row) const { return ints_[row]; }
  double get_double(size_t row) const { return doubles_[row]; }
  const std::string& get_string(size_t row) const { return strings_[row]; }
  double get_number(size_t row) const {
    return type_ == ColumnType::kDouble ? doubles_[row] : static_cast<double>(ints_[row]);
  }

  // Keeps the given rows, in the given order.
  void take(const std::vector<uint32_t>& rows);

 private:
  std::string name_;
  ColumnType type_;
  Unit unit_;
  std::vector<uint8_t> null_;
  std::vector<int64_t> ints_;  // kInt, kBool
  std::vector<double> doubles_;
  std::vector<std::string> strings_;
};

// The view of a table that SQL made: its columns are the user's own.
inline constexpr std::string_view kQueryView = "query";

class Table {
 public:
  explicit Table(std::string view) : view_(std::move(view)) {}

  Column& add(std::string name, ColumnType type, Unit unit = Unit::kNone);

  const std::string& view() const { return view_; }
  const std::deque<Column>& columns() const { return columns_; }
  const Column* find(std::string_view name) const;
  size_t rows() const { return columns_.empty() ? 0 : columns_.front().size(); }
  void take(const std::vector<uint32_t>& rows);

  // What the reader of the table must know about its trace; and rows left out by --limit.
  Stats stats;
  uint64_t rows_before_limit = 0;
  // The order of rows where the user asks for none; "": the view's own.
  std::string default_sort;
  // Sentences under the table: "no GPU in this trace", "steps are estimated".
  std::vector<std::string> notes;
  // Sentences before it: what it all means.
  std::vector<std::string> verdict;
  // Rows whose cells are sentences: text shows each as a paragraph.
  bool has_sentences = false;
  // The JSON of a view that has a form of its own; "" for all others.
  std::string own_json;

 private:
  std::string view_;
  std::deque<Column> columns_;
};

// Half-open, in ns from the trace's begin.
struct TimeRange {
  int64_t begin_ns = 0;
  int64_t end_ns = INT64_MAX;
  friend bool operator==(const TimeRange&, const TimeRange&) = default;
};

// What a user may ask of a view. Each view takes what makes sense for it.
struct TableOptions {
  std::string sort;       // a column's name, "-" or "+" before it for descending or ascending
  int64_t limit = -1;     // rows; 0: all; -1: the view's own default
  std::string filter;     // regular expression on the name column
  TimeRange range;        // slices that start in it
  std::string track;      // regular expression on a track's "process/thread" name or its id
  std::string by;         // operators: shape, stack; memory: operator, category; collectives: rank
  std::string within;     // critical_path: a part of a scope's name, and @N for its N-th
  std::string weight;     // of samples: cpu (the default where it is known), wall
  int depth = -1;         // tree: levels; operators by stack: functions; -1: the default
  bool heaviest = false;  // tree: only the path that holds most of the time
};

}  // namespace stepscope
