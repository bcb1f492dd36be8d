#include "analyze/row_order.h"

#include "analyze/pattern.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace stepscope {
namespace {

const Column* find_depth(const Table& table) {
  const Column* depth = table.find("depth");
  return depth != nullptr && depth->type() == ColumnType::kInt ? depth : nullptr;
}

// By row: the row of the parent, or UINT32_MAX at the top.
std::vector<uint32_t> build_parents(const Column& depth) {
  std::vector<uint32_t> parents(depth.size(), UINT32_MAX);
  std::vector<uint32_t> path;
  for (uint32_t row = 0; row < depth.size(); ++row) {
    const int64_t level = std::max<int64_t>(depth.get_int(row), 0);
    if (static_cast<uint64_t>(level) < path.size()) path.resize(static_cast<size_t>(level));
    if (!path.empty()) parents[row] = path.back();
    path.push_back(row);
  }
  return parents;
}

std::vector<uint32_t> rows_in_order(size_t count) {
  std::vector<uint32_t> rows(count);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

int compare_values(const Column& column, uint32_t a, uint32_t b) {
  switch (column.type()) {
    case ColumnType::kString:
      return column.get_string(a).compare(column.get_string(b));
    case ColumnType::kDouble: {
      const double x = column.get_double(a), y = column.get_double(b);
      return x < y ? -1 : x > y ? 1 : 0;
    }
    case ColumnType::kInt:
    case ColumnType::kBool: {
      const int64_t x = column.get_int(a), y = column.get_int(b);
      return x < y ? -1 : x > y ? 1 : 0;
    }
  }
  return 0;
}

// Siblings in the order of `rank`, each followed by what is below it.
std::vector<uint32_t> order_tree(const Column& depth, const std::vector<uint32_t>& sorted) {
  const std::vector<uint32_t> parents = build_parents(depth);
  const size_t count = parents.size();
  // Children of each row in sorted order, as linked lists; the last slot holds the top rows.
  std::vector<uint32_t> first(count + 1, UINT32_MAX), next(count, UINT32_MAX);
  for (size_t i = count; i-- > 0;) {
    const uint32_t row = sorted[i];
    const size_t parent = parents[row] == UINT32_MAX ? count : parents[row];
    next[row] = first[parent];
    first[parent] = row;
  }
  std::vector<uint32_t> order, open;
  order.reserve(count);
  if (first[count] != UINT32_MAX) open.push_back(first[count]);
  while (!open.empty()) {
    const uint32_t row = open.back();
    open.pop_back();
    order.push_back(row);
    if (next[row] != UINT32_MAX) open.push_back(next[row]);
    if (first[row] != UINT32_MAX) open.push_back(first[row]);
  }
  return order;
}

}  // namespace

Status filter_rows(Table& table, std::string_view expression) {
  if (expression.empty()) return {};
  Result<Pattern> pattern = Pattern::make(expression);
  if (!pattern) return pattern.status();
  const Column* name = table.find("name");
  if (name == nullptr || name->type() != ColumnType::kString) {
    const auto& columns = table.columns();
    const auto it = std::find_if(columns.begin(), columns.end(), [](const Column& column) {
      return column.type() == ColumnType::kString;
    });
    if (it == columns.end()) {
      return Status::error("--filter: the view '" + table.view() + "' has no column of names");
    }
    name = &*it;
  }
  std::vector<uint8_t> keep(table.rows(), 0);
  for (size_t row = 0; row < keep.size(); ++row) {
    keep[row] = !name->is_null(row) && pattern->matches(name->get_string(row));
  }
  if (const Column* depth = find_depth(table)) {
    const std::vector<uint32_t> parents = build_parents(*depth);
    std::vector<uint8_t> below(keep);
    for (size_t row = 0; row < keep.size(); ++row) {
      if (parents[row] != UINT32_MAX && below[parents[row]] != 0) below[row] = 1;
    }
    for (size_t row = keep.size(); row-- > 0;) {
      if (keep[row] != 0 && parents[row] != UINT32_MAX) keep[parents[row]] = 1;
    }
    for (size_t row = 0; row < keep.size(); ++row) keep[row] |= below[row];
  }
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < keep.size(); ++row) {
    if (keep[row] != 0) rows.push_back(row);
  }
  table.take(rows);
  return {};
}

Status sort_rows(Table& table, std::string_view key) {
  if (key.empty()) return {};
  const char sign = key.front();
  const std::string_view name = sign == '-' || sign == '+' ? key.substr(1) : key;
  const Column* column = table.find(name);
  if (column == nullptr) {
    std::string names;
    for (const Column& known : table.columns()) {
      names += (names.empty() ? "" : ", ") + known.name();
    }
    return Status::error("--sort: the view '" + table.view() + "' has no column '" +
                         std::string(name) + "'; there are: " + names);
  }
  const bool descending = sign == '-' || (sign != '+' && column->type() != ColumnType::kString);
  std::vector<uint32_t> rows = rows_in_order(table.rows());
  std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
    if (column->is_null(a) || column->is_null(b)) return !column->is_null(a) && column->is_null(b);
    const int order = compare_values(*column, a, b);
    return descending ? order > 0 : order < 0;
  });
  if (const Column* depth = find_depth(table)) rows = order_tree(*depth, rows);
  table.take(rows);
  return {};
}

void limit_rows(Table& table, int64_t limit) {
  const size_t count = table.rows();
  table.rows_before_limit = count;
  if (limit <= 0 || static_cast<uint64_t>(limit) >= count) return;
  std::vector<uint32_t> rows = rows_in_order(count);
  const auto kept = static_cast<size_t>(limit);
  const Column* depth = find_depth(table);
  const Column* weight = table.find("total_ns");
  if (depth != nullptr && weight != nullptr && weight->type() == ColumnType::kInt) {
    // No node weighs more here than the one above it, so that the heaviest are joined to the top.
    const std::vector<uint32_t> parents = build_parents(*depth);
    std::vector<int64_t> weights(count);
    for (size_t row = 0; row < count; ++row) {
      weights[row] = weight->get_int(row);
      if (parents[row] != UINT32_MAX) weights[row] = std::min(weights[row], weights[parents[row]]);
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [&](uint32_t a, uint32_t b) { return weights[a] > weights[b]; });
    rows.resize(kept);
    std::sort(rows.begin(), rows.end());
  } else {
    rows.resize(kept);
  }
  table.take(rows);
}

Status order_rows(Table& table, const TableOptions& options, int64_t default_limit) {
  if (Status status = filter_rows(table, options.filter); !status) return status;
  const std::string& sort = options.sort.empty() ? table.default_sort : options.sort;
  if (!sort.empty()) {
    if (Status status = sort_rows(table, sort); !status) return status;
  }
  limit_rows(table, options.limit < 0 ? default_limit : options.limit);
  return {};
}

}  // namespace stepscope
