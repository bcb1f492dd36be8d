#include "analyze/sql_module.h"

#include <algorithm>
#include <cstring>

namespace stepscope {

void RowPlan::keep(std::span<const RowRange> ranges) {
  std::vector<RowRange> kept;
  size_t a = 0, b = 0;
  while (a < ranges_.size() && b < ranges.size()) {
    const RowRange both{std::max(ranges_[a].begin, ranges[b].begin),
                        std::min(ranges_[a].end, ranges[b].end)};
    if (both.begin < both.end) kept.push_back(both);
    ranges_[a].end < ranges[b].end ? ++a : ++b;
  }
  ranges_ = std::move(kept);
}

void RowPlan::keep_labels(const std::vector<uint8_t>& marked) {
  if (labels_.empty()) {
    labels_ = marked;
    return;
  }
  for (size_t i = 0; i < labels_.size() && i < marked.size(); ++i) labels_[i] &= marked[i];
}

namespace {

struct VirtualTable : sqlite3_vtab {
  SqlTable* table = nullptr;
};

struct Cursor : sqlite3_vtab_cursor {
  SqlTable* table = nullptr;
  RowPlan plan{0};
  size_t range = 0;
  uint64_t position = 0;
  uint64_t row = 0;
  uint32_t hint = 0;

  bool at_end() const { return range >= plan.ranges().size(); }

  // To the first row at or after the position that the labels let through.
  void settle() {
    const std::vector<RowRange>& ranges = plan.ranges();
    while (range < ranges.size()) {
      if (position >= ranges[range].end) {
        if (++range < ranges.size()) position = ranges[range].begin;
        continue;
      }
      row = plan.order() != nullptr ? (*plan.order())[position] : position;
      if (plan.labels().empty() || plan.labels()[table->label_of(row)] != 0) return;
      ++position;
    }
  }
};

std::string quoted(std::string_view name) {
  const bool is_plain =
      !name.empty() && !(name.front() >= '0' && name.front() <= '9') &&
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") == std::string_view::npos &&
      sqlite3_keyword_check(name.data(), static_cast<int>(name.size())) == 0;
  if (is_plain) return std::string(name);
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"') text += '"';
    text += c;
  }
  return text + '"';
}

std::string column_list(const SqlTable& table) {
  std::string list;
  for (const SqlColumn& column : table.columns()) {
    if (!list.empty()) list += ", ";
    list += quoted(column.name);
    if (*column.type != '\0') list += std::string(" ") + column.type;
  }
  return list;
}

Status make_table(SqlTableSource& source) {
  if (source.table != nullptr) return {};
  auto table = source.make();
  if (!table) return table.status();
  source.table = *std::move(table);
  return {};
}

int connect(sqlite3* db, void* aux, int, const char* const*, sqlite3_vtab** out, char** error) {
  SqlTableSource& source = *static_cast<SqlTableSource*>(aux);
  if (const Status status = make_table(source); !status) {
    *error = sqlite3_mprintf("%s", status.message().c_str());
    return SQLITE_ERROR;
  }
  const std::string declaration = "CREATE TABLE x(" + column_list(*source.table) + ")";
  if (source.is_declaring != nullptr) *source.is_declaring = true;
  const int code = sqlite3_declare_vtab(db, declaration.c_str());
  if (source.is_declaring != nullptr) *source.is_declaring = false;
  if (code != SQLITE_OK) {
    *error = sqlite3_mprintf("%s", sqlite3_errmsg(db));
    return code;
  }
  sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
  auto* table = new VirtualTable{};
  table->table = source.table.get();
  *out = table;
  return SQLITE_OK;
}

int disconnect(sqlite3_vtab* table) {
  delete static_cast<VirtualTable*>(table);
  return SQLITE_OK;
}

bool find_op(unsigned char code, SqlOp& op) {
  switch (code) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
      op = SqlOp::kEqual;
      return true;
    case SQLITE_INDEX_CONSTRAINT_LT:
      op = SqlOp::kLess;
      return true;
    case SQLITE_INDEX_CONSTRAINT_LE:
      op = SqlOp::kLessEqual;
      return true;
    case SQLITE_INDEX_CONSTRAINT_GT:
      op = SqlOp::kGreater;
      return true;
    case SQLITE_INDEX_CONSTRAINT_GE:
      op = SqlOp::kGreaterEqual;
      return true;
    default:
      return false;
  }
}

struct Condition {
  int constraint;  // its place in what SQLite offers
  size_t column;
  SqlOp op;
  SqlSearch search;
};

std::vector<Condition> find_conditions(const SqlTable& table, sqlite3_index_info* info) {
  std::vector<Condition> conditions;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    SqlOp op{};
    if (constraint.usable == 0 || constraint.iColumn < 0 || !find_op(constraint.op, op)) continue;
    const auto column = static_cast<size_t>(constraint.iColumn);
    const SqlSearch search = table.columns()[column].search;
    const bool ranges = search == SqlSearch::kUnique || search == SqlSearch::kRange;
    if (search == SqlSearch::kNone || (op != SqlOp::kEqual && !ranges)) continue;
    if (std::strcmp(sqlite3_vtab_collation(info, i), "BINARY") != 0) continue;
    if (search == SqlSearch::kOrder) return {{i, column, op, search}};
    conditions.push_back({i, column, op, search});
  }
  return conditions;
}

// SQLite compares plans by these; only their order matters.
void set_cost(const std::vector<Condition>& conditions, double rows, sqlite3_index_info* info) {
  double cost = rows, found = rows;
  for (const Condition& condition : conditions) {
    const bool is_equal = condition.op == SqlOp::kEqual;
    switch (condition.search) {
      case SqlSearch::kUnique:
        if (is_equal) {
          cost = 2;
          found = 1;
          info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
        } else {
          cost /= 4;
          found /= 4;
        }
        break;
      case SqlSearch::kOrder:
      case SqlSearch::kLookup:
        cost = std::min(cost, 8.0);
        found = std::min(found, 4.0);
        break;
      case SqlSearch::kFew:
      case SqlSearch::kRange:
        cost /= is_equal ? 20 : 4;
        found /= is_equal ? 20 : 4;
        break;
      case SqlSearch::kLabel:
        cost /= 3;
        found /= 50;
        break;
      case SqlSearch::kNone:
        break;
    }
  }
  info->estimatedCost = std::max(cost, 1.0);
  info->estimatedRows = static_cast<sqlite3_int64>(std::max(found, 1.0));
}

constexpr int kInOrder = 1;

bool wants_order(const SqlTable& table, sqlite3_index_info* info) {
  if (info->nOrderBy == 0) return false;
  // Where SQLite only wants equal rows together, the direction is ours.
  const int distinct = sqlite3_vtab_distinct(info);
  const bool any_direction = distinct == 1 || distinct == 2;
  std::vector<size_t> columns;
  for (int i = 0; i < info->nOrderBy; ++i) {
    if (info->aOrderBy[i].iColumn < 0) return false;
    if (info->aOrderBy[i].desc != 0 && !any_direction) return false;
    columns.push_back(static_cast<size_t>(info->aOrderBy[i].iColumn));
  }
  return table.has_order(columns);
}

// The plan goes to filter() as text: a letter for the operation and a number for the column, each.
int best_index(sqlite3_vtab* vtab, sqlite3_index_info* info) {
  const SqlTable& table = *static_cast<VirtualTable*>(vtab)->table;
  const std::vector<Condition> conditions = find_conditions(table, info);
  std::string plan;
  for (size_t i = 0; i < conditions.size(); ++i) {
    info->aConstraintUsage[conditions[i].constraint].argvIndex = static_cast<int>(i) + 1;
    plan += static_cast<char>('a' + static_cast<int>(conditions[i].op));
    plan += static_cast<char>('A' + static_cast<int>(conditions[i].column));
  }
  set_cost(conditions, static_cast<double>(table.rows()) + 10, info);
  if (conditions.empty() && wants_order(table, info)) {
    info->idxNum = kInOrder;
    info->orderByConsumed = 1;
  }
  if (!plan.empty()) {
    info->idxStr = sqlite3_mprintf("%s", plan.c_str());
    if (info->idxStr == nullptr) return SQLITE_NOMEM;
    info->needToFreeIdxStr = 1;
  }
  return SQLITE_OK;
}

int open_cursor(sqlite3_vtab* vtab, sqlite3_vtab_cursor** out) {
  auto* cursor = new Cursor{};
  cursor->table = static_cast<VirtualTable*>(vtab)->table;
  *out = cursor;
  return SQLITE_OK;
}

int close_cursor(sqlite3_vtab_cursor* cursor) {
  delete static_cast<Cursor*>(cursor);
  return SQLITE_OK;
}

int filter(sqlite3_vtab_cursor* raw, int order, const char* plan, int count,
           sqlite3_value** values) {
  Cursor& cursor = *static_cast<Cursor*>(raw);
  cursor.plan = RowPlan(cursor.table->rows());
  if (order == kInOrder) cursor.plan.use_order(cursor.table->order());
  for (int i = 0; i < count; ++i) {
    const auto op = static_cast<SqlOp>(plan[2 * i] - 'a');
    const auto column = static_cast<size_t>(plan[2 * i + 1] - 'A');
    if (sqlite3_value_type(values[i]) == SQLITE_NULL) {
      cursor.plan.keep_none();
    } else {
      cursor.table->search(column, op, values[i], cursor.plan);
    }
  }
  cursor.range = 0;
  cursor.hint = 0;
  cursor.position = cursor.plan.ranges().empty() ? 0 : cursor.plan.ranges()[0].begin;
  cursor.settle();
  return SQLITE_OK;
}

int next_row(sqlite3_vtab_cursor* raw) {
  Cursor& cursor = *static_cast<Cursor*>(raw);
  ++cursor.position;
  cursor.settle();
  return SQLITE_OK;
}

int at_end(sqlite3_vtab_cursor* cursor) { return static_cast<Cursor*>(cursor)->at_end() ? 1 : 0; }

int get_column(sqlite3_vtab_cursor* raw, sqlite3_context* context, int column) {
  Cursor& cursor = *static_cast<Cursor*>(raw);
  SqlCell cell(context, cursor.hint);
  cursor.table->get(cursor.row, static_cast<size_t>(column), cell);
  return SQLITE_OK;
}

int get_rowid(sqlite3_vtab_cursor* cursor, sqlite3_int64* rowid) {
  *rowid = static_cast<sqlite3_int64>(static_cast<Cursor*>(cursor)->row);
  return SQLITE_OK;
}

// Without xUpdate a table is read-only. With xCreate = nullptr it needs no CREATE VIRTUAL TABLE and
// can have none.
sqlite3_module make_module(bool can_create) {
  sqlite3_module module{};
  module.iVersion = 1;
  module.xCreate = can_create ? connect : nullptr;
  module.xConnect = connect;
  module.xBestIndex = best_index;
  module.xDisconnect = disconnect;
  module.xDestroy = disconnect;
  module.xOpen = open_cursor;
  module.xClose = close_cursor;
  module.xFilter = filter;
  module.xNext = next_row;
  module.xEof = at_end;
  module.xColumn = get_column;
  module.xRowid = get_rowid;
  return module;
}

}  // namespace

Status register_sql_table(sqlite3* db, SqlTableSource& source, bool is_listed) {
  static const sqlite3_module kListed = make_module(true);
  static const sqlite3_module kHidden = make_module(false);
  const sqlite3_module* module = is_listed ? &kListed : &kHidden;
  if (sqlite3_create_module_v2(db, source.name.c_str(), module, &source, nullptr) != SQLITE_OK) {
    return Status::error(sqlite3_errmsg(db));
  }
  if (!is_listed) return {};
  if (Status status = make_table(source); !status) return status;
  // The columns are arguments that nobody reads: they make sqlite_schema tell them.
  const std::string create = "CREATE VIRTUAL TABLE " + quoted(source.name) + " USING " +
                             quoted(source.name) + "(" + column_list(*source.table) + ")";
  if (sqlite3_exec(db, create.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return Status::error(sqlite3_errmsg(db));
  }
  return {};
}

}  // namespace stepscope
