#include "analyze/sql_columns.h"

namespace stepscope {

std::optional<SqlInterval> interval_of(SqlOp op, sqlite3_value* value) {
  if (sqlite3_value_type(value) != SQLITE_INTEGER) return std::nullopt;
  const int64_t number = sqlite3_value_int64(value);
  SqlInterval interval;
  switch (op) {
    case SqlOp::kEqual:
      return SqlInterval{number, number};
    case SqlOp::kLess:
      if (number == INT64_MIN) return std::nullopt;
      interval.last = number - 1;
      break;
    case SqlOp::kLessEqual:
      interval.last = number;
      break;
    case SqlOp::kGreater:
      if (number == INT64_MAX) return std::nullopt;
      interval.first = number + 1;
      break;
    case SqlOp::kGreaterEqual:
      interval.first = number;
      break;
  }
  return interval;
}

std::optional<std::string_view> text_of(sqlite3_value* value) {
  if (sqlite3_value_type(value) != SQLITE_TEXT) return std::nullopt;
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  if (text == nullptr) return std::nullopt;
  return std::string_view(text, static_cast<size_t>(sqlite3_value_bytes(value)));
}

void narrow_row(SqlTraceData&, SqlOp op, sqlite3_value* value, RowPlan& plan) {
  const auto interval = interval_of(op, value);
  if (!interval) return;
  if (interval->last < 0) return plan.keep_none();
  plan.keep(static_cast<uint64_t>(std::max<int64_t>(interval->first, 0)),
            static_cast<uint64_t>(interval->last) + 1);
}

const Track* find_track(const Trace& trace, SqlOp op, sqlite3_value* value, RowPlan& plan) {
  const auto interval = interval_of(op, value);
  if (!interval) return nullptr;
  const auto tracks = trace.tracks();
  if (interval->first < 0 || static_cast<uint64_t>(interval->first) >= tracks.size()) {
    plan.keep_none();
    return nullptr;
  }
  return &tracks[static_cast<size_t>(interval->first)];
}

}  // namespace stepscope
