// The glue between SQLite's virtual tables and ours: SqlTable is what a table has to say, and
// register_sql_table makes SQLite ask it. Internal to sql.cc; the one header here that knows
// SQLite.
//
// A table is rows 0..n-1. A search narrows them to ranges of rows before SQLite looks at any;
// SQLite checks every condition again, so that a search may keep too many rows but never too few.
#pragma once

#include <sqlite3.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace stepscope {

struct RowRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// The rows that a cursor visits.
class RowPlan {
 public:
  explicit RowPlan(uint64_t rows) : ranges_{{0, rows}} {}

  // Keeps what lies in one of `ranges` too; they are sorted and apart.
  void keep(std::span<const RowRange> ranges);
  void keep(uint64_t begin, uint64_t end) { keep(std::array{RowRange{begin, end}}); }
  void keep_none() { ranges_.clear(); }
  // Positions in `order` instead of rows. Not together with other searches.
  void use_order(const std::vector<uint32_t>& order) { order_ = &order; }
  // Keeps rows whose label is marked; an empty vector keeps all.
  void keep_labels(const std::vector<uint8_t>& marked);

  const std::vector<RowRange>& ranges() const { return ranges_; }
  const std::vector<uint32_t>* order() const { return order_; }
  const std::vector<uint8_t>& labels() const { return labels_; }

 private:
  std::vector<RowRange> ranges_;
  const std::vector<uint32_t>* order_ = nullptr;
  std::vector<uint8_t> labels_;
};

enum class SqlOp : uint8_t { kEqual, kLess, kLessEqual, kGreater, kGreaterEqual };

// Where a table puts the value of a cell. Texts must live as long as the table.
class SqlCell {
 public:
  SqlCell(sqlite3_context* context, uint32_t& hint) : context_(context), hint_(hint) {}
  void set(int64_t value) { sqlite3_result_int64(context_, value); }
  void set(double value) { sqlite3_result_double(context_, value); }
  void set(std::string_view text) {
    sqlite3_result_text64(context_, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  void set_null() { sqlite3_result_null(context_); }
  // Kept by the cursor from row to row, 0 at first: where the last row was found.
  uint32_t& hint() { return hint_; }

 private:
  sqlite3_context* context_;
  uint32_t& hint_;
};

// How a condition on a column is searched.
enum class SqlSearch : uint8_t {
  kNone,
  kUnique,  // at most one row has the value; ranges are searched too
  kFew,     // some rows have it; equality only
  kRange,   // ranges and equality
  kLookup,  // very few rows have it; equality only
  kLabel,   // equality of a text, by label: every row is looked at, but quickly
  kOrder,   // equality through an index of its own (RowPlan::use_order), alone
};

struct SqlColumn {
  std::string name;
  const char* type = "";
  SqlSearch search = SqlSearch::kNone;
};

class SqlTable {
 public:
  virtual ~SqlTable() = default;
  virtual std::span<const SqlColumn> columns() const = 0;
  virtual uint64_t rows() const = 0;
  virtual void get(uint64_t row, size_t column, SqlCell& cell) const = 0;
  // Narrows the plan by `column op value`. By default nothing can be searched.
  virtual void search(size_t, SqlOp, sqlite3_value*, RowPlan&) {}
  // For kLabel.
  virtual uint32_t label_of(uint64_t) const { return 0; }
  // An order of all rows by these columns, ascending, if the table has one.
  virtual bool has_order(std::span<const size_t>) const { return false; }
  virtual const std::vector<uint32_t>& order() {
    static const std::vector<uint32_t> kNone;
    return kNone;
  }
};

// `make` is called when the table is first named; the table is kept in `source`.
struct SqlTableSource {
  std::string name;
  std::function<Result<std::unique_ptr<SqlTable>>()> make;
  std::unique_ptr<SqlTable> table;
  // True while SQLite is told the columns, which it takes for a CREATE TABLE: an authorizer must
  // let that pass. Null where there is none.
  bool* is_declaring = nullptr;
};

// With `is_listed`, the table is also made at once and stands in sqlite_schema. The source must
// outlive the connection.
Status register_sql_table(sqlite3* db, SqlTableSource& source, bool is_listed);

}  // namespace stepscope
