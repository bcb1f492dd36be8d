// How a table of a trace is written down: an array of columns, each with a function that gives its
// value in a row and, where it can be searched, one that narrows the rows. Internal to
// sql_tables.cc and sql_slices.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analyze/sql_module.h"
#include "analyze/sql_trace_data.h"
#include "trace/ids.h"

namespace stepscope {

struct SqlColumnSpec {
  const char* name;
  const char* type;
  void (*get)(SqlTraceData&, uint64_t row, SqlCell&);
  SqlSearch search = SqlSearch::kNone;
  void (*narrow)(SqlTraceData&, SqlOp, sqlite3_value*, RowPlan&) = nullptr;
};

class TraceTable : public SqlTable {
 public:
  TraceTable(SqlTraceData& data, std::span<const SqlColumnSpec> specs, uint64_t rows)
      : data_(data), specs_(specs), rows_(rows) {
    for (const SqlColumnSpec& spec : specs) columns_.push_back({spec.name, spec.type, spec.search});
  }

  std::span<const SqlColumn> columns() const override { return columns_; }
  uint64_t rows() const override { return rows_; }
  void get(uint64_t row, size_t column, SqlCell& cell) const override {
    specs_[column].get(data_, row, cell);
  }
  void search(size_t column, SqlOp op, sqlite3_value* value, RowPlan& plan) override {
    specs_[column].narrow(data_, op, value, plan);
  }

 protected:
  SqlTraceData& data_;

 private:
  std::span<const SqlColumnSpec> specs_;
  uint64_t rows_;
  std::vector<SqlColumn> columns_;
};

struct SqlInterval {  // both ends belong to it
  int64_t first = INT64_MIN, last = INT64_MAX;
};

// The whole numbers that a condition allows; nothing where the value is no whole number, and the
// search is left to SQLite.
std::optional<SqlInterval> interval_of(SqlOp op, sqlite3_value* value);
// The value as text, where it is one.
std::optional<std::string_view> text_of(sqlite3_value* value);

// For a column that is the row's own number.
void narrow_row(SqlTraceData&, SqlOp op, sqlite3_value* value, RowPlan& plan);

// The track that a condition names; null where there is none (the plan then keeps no row) and where
// the value is no whole number.
const Track* find_track(const Trace& trace, SqlOp op, sqlite3_value* value, RowPlan& plan);

// Equality with a slice, through an order of rows by it.
template <typename SliceOf>
void narrow_by_order(const std::vector<uint32_t>& order, const SliceOf& slice_of, SqlOp op,
                     sqlite3_value* value, RowPlan& plan) {
  const auto interval = interval_of(op, value);
  if (!interval) return;
  const int64_t wanted = interval->first;
  const auto from = std::lower_bound(
      order.begin(), order.end(), wanted,
      [&](uint32_t row, int64_t id) { return int64_t{index(slice_of(row))} < id; });
  const auto to = std::upper_bound(from, order.end(), wanted, [&](int64_t id, uint32_t row) {
    return id < int64_t{index(slice_of(row))};
  });
  plan.use_order(order);
  plan.keep(static_cast<uint64_t>(from - order.begin()), static_cast<uint64_t>(to - order.begin()));
}

template <typename Id>
void set_id(SqlCell& cell, Id id) {
  index(id) == UINT32_MAX ? cell.set_null() : cell.set(int64_t{index(id)});
}

}  // namespace stepscope
