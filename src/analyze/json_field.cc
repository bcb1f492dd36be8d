#include "analyze/json_field.h"

#include <sqlite3.h>

#include <climits>
#include <memory>

namespace stepscope {

std::optional<std::string> find_json_field(std::string_view json, std::string_view path) {
  if (json.size() > INT_MAX || path.size() > INT_MAX) return std::nullopt;
  sqlite3* raw = nullptr;
  const int opened =
      sqlite3_open_v2(":memory:", &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, nullptr);
  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> db(raw, sqlite3_close);
  if (opened != SQLITE_OK) return std::nullopt;
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db.get(), "SELECT json_extract(?1, ?2) WHERE json_valid(?1)", -1,
                         &statement, nullptr) != SQLITE_OK) {
    return std::nullopt;
  }
  const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> guard(statement, sqlite3_finalize);
  sqlite3_bind_text(statement, 1, json.data(), static_cast<int>(json.size()), SQLITE_STATIC);
  sqlite3_bind_text(statement, 2, path.data(), static_cast<int>(path.size()), SQLITE_STATIC);
  if (sqlite3_step(statement) != SQLITE_ROW) return std::nullopt;
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
  if (text == nullptr) return std::nullopt;
  return std::string(text, static_cast<size_t>(sqlite3_column_bytes(statement, 0)));
}

}  // namespace stepscope
