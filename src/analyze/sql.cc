#include "analyze/sql.h"

#include "analyze/sql_module.h"
#include "analyze/sql_tables.h"
#include "analyze/views.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace stepscope {
namespace {

constexpr int kOpsBetweenQuestions = 100'000;
constexpr int kMaxValueBytes = 256 << 20;

class ResultTable : public SqlTable {
 public:
  explicit ResultTable(Table table) : table_(std::move(table)) {
    for (const Column& column : table_.columns()) {
      columns_.push_back({column.name(), type_of(column.type()), SqlSearch::kNone});
    }
  }

  std::span<const SqlColumn> columns() const override { return columns_; }
  uint64_t rows() const override { return table_.rows(); }
  void get(uint64_t row, size_t at, SqlCell& cell) const override {
    const Column& column = table_.columns()[at];
    if (column.is_null(row)) return cell.set_null();
    switch (column.type()) {
      case ColumnType::kInt:
      case ColumnType::kBool:
        return cell.set(column.get_int(row));
      case ColumnType::kDouble:
        return cell.set(column.get_double(row));
      case ColumnType::kString:
        return cell.set(std::string_view(column.get_string(row)));
    }
  }

 private:
  static const char* type_of(ColumnType type) {
    switch (type) {
      case ColumnType::kInt:
      case ColumnType::kBool:
        return "INTEGER";
      case ColumnType::kDouble:
        return "REAL";
      case ColumnType::kString:
        return "TEXT";
    }
    return "";
  }

  Table table_;
  std::vector<SqlColumn> columns_;
};

// Reading, and nothing else: the trace can not be changed, and no other file be reached.
int authorize(void* is_declaring, int action, const char* first, const char* second, const char*,
              const char*) {
  static constexpr std::array kHarmlessPragmas = {
      "table_info", "table_xinfo", "table_list", "function_list", "module_list", "compile_options"};
  if (*static_cast<const bool*>(is_declaring)) return SQLITE_OK;
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      return second != nullptr && sqlite3_stricmp(second, "load_extension") == 0 ? SQLITE_DENY
                                                                                 : SQLITE_OK;
    case SQLITE_PRAGMA:
      for (const char* pragma : kHarmlessPragmas) {
        if (first != nullptr && sqlite3_stricmp(first, pragma) == 0) return SQLITE_OK;
      }
      return SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

// The values of one column of a result. It starts as whole numbers and becomes what its values are:
// doubles where there is one, text where there is one.
class ResultColumn {
 public:
  explicit ResultColumn(std::string name) : name_(std::move(name)) {}

  void add(sqlite3_stmt* statement, int column) {
    const int type = sqlite3_column_type(statement, column);
    is_null_.push_back(type == SQLITE_NULL ? 1 : 0);
    if (type == SQLITE_FLOAT && type_ == ColumnType::kInt) become_double();
    if ((type == SQLITE_TEXT || type == SQLITE_BLOB) && type_ != ColumnType::kString) become_text();
    switch (type_) {
      case ColumnType::kDouble:
        doubles_.push_back(sqlite3_column_double(statement, column));
        break;
      case ColumnType::kString: {
        // SQLite turns numbers into text here.
        const auto* text = static_cast<const char*>(
            type == SQLITE_BLOB ? sqlite3_column_blob(statement, column)
                                : static_cast<const void*>(sqlite3_column_text(statement, column)));
        const auto bytes = static_cast<size_t>(sqlite3_column_bytes(statement, column));
        strings_.emplace_back(text == nullptr ? std::string() : std::string(text, bytes));
        break;
      }
      default:
        ints_.push_back(sqlite3_column_int64(statement, column));
    }
  }

  void move_to(Table& table) {
    Column& column = table.add(std::move(name_), type_);
    for (size_t row = 0; row < is_null_.size(); ++row) {
      if (is_null_[row] != 0) {
        column.push_null();
      } else if (type_ == ColumnType::kString) {
        column.push(std::string_view(strings_[row]));
      } else if (type_ == ColumnType::kDouble) {
        column.push(doubles_[row]);
      } else {
        column.push(ints_[row]);
      }
    }
    *this = ResultColumn("");
  }

 private:
  void become_double() {
    doubles_.assign(ints_.begin(), ints_.end());
    ints_ = {};
    type_ = ColumnType::kDouble;
  }
  void become_text() {
    for (const int64_t value : ints_) strings_.push_back(std::to_string(value));
    for (const double value : doubles_) strings_.push_back(std::to_string(value));
    ints_ = {};
    doubles_ = {};
    type_ = ColumnType::kString;
  }

  std::string name_;
  ColumnType type_ = ColumnType::kInt;
  std::vector<uint8_t> is_null_;
  std::vector<int64_t> ints_;
  std::vector<double> doubles_;
  std::vector<std::string> strings_;
};

using Statement = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

}  // namespace

std::unique_ptr<SqlTable> make_result_table(Table table) {
  return std::make_unique<ResultTable>(std::move(table));
}

class SqlSession::Impl {
 public:
  explicit Impl(const Trace& trace) : trace_(trace), data_(trace) {}
  // The connection goes first: its tables refer to the sources.
  ~Impl() { sqlite3_close(db_); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Status open() {
    if (sqlite3_open_v2(":memory:", &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, nullptr) !=
        SQLITE_OK) {
      return Status::error("SQLite can not be started");
    }
    sqlite3_limit(db_, SQLITE_LIMIT_LENGTH, kMaxValueBytes);
    sqlite3_db_config(db_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    tables_ = make_trace_tables(data_);
    for (const View& view : views()) {
      const auto has_name = [&](const SqlTableSource& source) { return source.name == view.name; };
      if (std::any_of(tables_.begin(), tables_.end(), has_name)) continue;
      views_.push_back({std::string(view.name), [this, &view] { return make_view_table(view); },
                        nullptr, &is_declaring_});
    }
    for (SqlTableSource& source : tables_) {
      if (Status status = register_sql_table(db_, source, true); !status) return status;
    }
    for (SqlTableSource& source : views_) {
      if (Status status = register_sql_table(db_, source, false); !status) return status;
    }
    // SQLite's own table functions are told their columns on first use, which the authorizer would
    // take for a CREATE TABLE.
    sqlite3_exec(db_,
                 "SELECT 1 FROM json_each('[]'), json_tree('[]'), pragma_table_info('x'), "
                 "pragma_table_xinfo('x'), pragma_table_list",
                 nullptr, nullptr, nullptr);
    sqlite3_set_authorizer(db_, authorize, &is_declaring_);
    return {};
  }

  Result<Table> run(std::string_view sql, const SqlOptions& options) {
    if (sql.size() > INT_MAX) return Status::error("the statement is too long");
    sqlite3_stmt* raw = nullptr;
    const char* tail = nullptr;
    const int code = sqlite3_prepare_v2(db_, sql.data(), static_cast<int>(sql.size()), &raw, &tail);
    const Statement statement(raw, sqlite3_finalize);
    if (code != SQLITE_OK) return Status::error(explain(code));
    if (raw == nullptr) return Status::error("there is no SQL in it");
    if (Status status = check_is_last(std::string_view(tail, sql.data() + sql.size())); !status) {
      return status;
    }
    if (sqlite3_column_count(raw) == 0) return Status::error("only SELECT gives a table");

    should_stop_ = options.should_stop;
    sqlite3_progress_handler(db_, should_stop_ ? kOpsBetweenQuestions : 0, ask_whether_to_stop,
                             this);
    Result<Table> table = collect(raw, options.max_rows);
    sqlite3_progress_handler(db_, 0, nullptr, nullptr);
    return table;
  }

 private:
  static int ask_whether_to_stop(void* self) {
    return static_cast<Impl*>(self)->should_stop_() ? 1 : 0;
  }

  Result<std::unique_ptr<SqlTable>> make_view_table(const View& view) {
    TableOptions options;
    options.limit = 0;
    Result<Table> table = make_view(trace_, view.name, options);
    if (!table) return table.status();
    return make_result_table(*std::move(table));
  }

  Status check_is_last(std::string_view tail) {
    sqlite3_stmt* raw = nullptr;
    const int code =
        sqlite3_prepare_v2(db_, tail.data(), static_cast<int>(tail.size()), &raw, nullptr);
    const Statement next(raw, sqlite3_finalize);
    if (code == SQLITE_OK && raw == nullptr) return {};
    return Status::error("one statement at a time; there is more after the first");
  }

  Result<Table> collect(sqlite3_stmt* statement, uint64_t max_rows) {
    const int count = sqlite3_column_count(statement);
    std::vector<ResultColumn> columns;
    for (int i = 0; i < count; ++i) {
      const char* name = sqlite3_column_name(statement, i);
      columns.emplace_back(name == nullptr ? "" : name);
    }
    uint64_t rows = 0;
    bool is_cut = false;
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
      if (max_rows != 0 && rows == max_rows) {
        is_cut = true;
        break;
      }
      ++rows;
      for (int i = 0; i < count; ++i) columns[static_cast<size_t>(i)].add(statement, i);
    }
    if (code != SQLITE_DONE && code != SQLITE_ROW) return Status::error(explain(code));
    Table table{std::string(kQueryView)};
    for (ResultColumn& column : columns) column.move_to(table);
    table.rows_before_limit = rows;
    table.stats = trace_.stats();
    if (is_cut) {
      table.notes.push_back("cut after " + std::to_string(rows) + " rows; there are more");
    }
    return table;
  }

  std::string explain(int code) const {
    if (code == SQLITE_AUTH) return "a trace is read-only: only SELECT works";
    if (code == SQLITE_INTERRUPT) return "stopped";
    std::string message = sqlite3_errmsg(db_);
    if (message.starts_with("no such table")) {
      message += "; there are: ";
      for (const auto* sources : {&tables_, &views_}) {
        for (const SqlTableSource& source : *sources) {
          if (&source != &tables_.front()) message += ", ";
          message += source.name;
        }
      }
    }
    return message;
  }

  const Trace& trace_;
  SqlTraceData data_;
  std::vector<SqlTableSource> tables_, views_;
  std::function<bool()> should_stop_;
  bool is_declaring_ = false;
  sqlite3* db_ = nullptr;
};

SqlSession::SqlSession(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SqlSession::SqlSession(SqlSession&&) noexcept = default;
SqlSession& SqlSession::operator=(SqlSession&&) noexcept = default;
SqlSession::~SqlSession() = default;

Result<SqlSession> SqlSession::open(const Trace& trace) {
  auto impl = std::make_unique<Impl>(trace);
  if (Status status = impl->open(); !status) return status;
  return SqlSession(std::move(impl));
}

Result<Table> SqlSession::run(std::string_view sql, const SqlOptions& options) {
  return impl_->run(sql, options);
}

Result<Table> run_sql(const Trace& trace, std::string_view sql, const SqlOptions& options) {
  Result<SqlSession> session = SqlSession::open(trace);
  if (!session) return session.status();
  return session->run(sql, options);
}

}  // namespace stepscope
