#include "analyze/json_field.h"

#include <sqlite3.h>

#include <climits>
#include <memory>

namespace stepscope {

namespace {

using Database = std::unique_ptr<sqlite3, int (*)(sqlite3*)>;
using Statement = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

Database open_database() {
  sqlite3* raw = nullptr;
  const int opened =
      sqlite3_open_v2(":memory:", &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, nullptr);
  Database database(raw, sqlite3_close);
  if (opened != SQLITE_OK) database.reset();
  return database;
}

Statement prepare(const Database& database, const char* sql) {
  sqlite3_stmt* raw = nullptr;
  if (database) sqlite3_prepare_v2(database.get(), sql, -1, &raw, nullptr);
  return Statement(raw, sqlite3_finalize);
}

bool bind(const Statement& statement, int place, std::string_view text) {
  return text.size() <= INT_MAX &&
         sqlite3_bind_text(statement.get(), place, text.data(), static_cast<int>(text.size()),
                           SQLITE_STATIC) == SQLITE_OK;
}

}  // namespace

std::optional<std::string> find_json_field(std::string_view json, std::string_view path) {
  const Database database = open_database();
  const Statement statement = prepare(database, "SELECT json_extract(?1, ?2) WHERE json_valid(?1)");
  if (!statement || !bind(statement, 1, json) || !bind(statement, 2, path)) return std::nullopt;
  if (sqlite3_step(statement.get()) != SQLITE_ROW) return std::nullopt;
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement.get(), 0));
  if (text == nullptr) return std::nullopt;
  return std::string(text, static_cast<size_t>(sqlite3_column_bytes(statement.get(), 0)));
}

bool is_json(std::string_view text) {
  // SQLite would take a NUL for the end of the text.
  if (text.find('\0') != std::string_view::npos) return false;
  const Database database = open_database();
  const Statement statement = prepare(database, "SELECT 1 WHERE json_valid(?1)");
  return statement && bind(statement, 1, text) && sqlite3_step(statement.get()) == SQLITE_ROW;
}

}  // namespace stepscope
