#include "analyze/table.h"

#include "base/check.h"

#include <cmath>

namespace stepscope {
namespace {

template <typename T>
void take_rows(std::vector<T>& values, const std::vector<uint32_t>& rows) {
  if (values.empty()) return;
  std::vector<T> taken;
  taken.reserve(rows.size());
  // Not moved: a row may be taken twice.
  for (const uint32_t row : rows) taken.push_back(values[row]);
  values = std::move(taken);
}

}  // namespace

std::string_view unit_name(Unit unit) {
  switch (unit) {
    case Unit::kNone:
      return "";
    case Unit::kNs:
      return "ns";
    case Unit::kBytes:
      return "bytes";
    case Unit::kFraction:
      return "fraction";
    case Unit::kCount:
      return "count";
  }
  return "";
}

void Column::push(int64_t value) {
  CHECK(type_ != ColumnType::kString, "a column of strings takes no number");
  if (type_ == ColumnType::kDouble) {
    doubles_.push_back(static_cast<double>(value));
  } else {
    ints_.push_back(value);
  }
  null_.push_back(0);
}

void Column::push(double value) {
  CHECK(type_ == ColumnType::kDouble, "only a column of doubles takes a double");
  doubles_.push_back(value);
  null_.push_back(std::isnan(value) ? 1 : 0);
}

void Column::push(std::string_view value) {
  CHECK(type_ == ColumnType::kString, "only a column of strings takes a string");
  strings_.emplace_back(value);
  null_.push_back(0);
}

void Column::push_null() {
  switch (type_) {
    case ColumnType::kInt:
    case ColumnType::kBool:
      ints_.push_back(0);
      break;
    case ColumnType::kDouble:
      doubles_.push_back(0);
      break;
    case ColumnType::kString:
      strings_.emplace_back();
      break;
  }
  null_.push_back(1);
}

void Column::take(const std::vector<uint32_t>& rows) {
  take_rows(null_, rows);
  take_rows(ints_, rows);
  take_rows(doubles_, rows);
  take_rows(strings_, rows);
}

Column& Table::add(std::string name, ColumnType type, Unit unit) {
  return columns_.emplace_back(std::move(name), type, unit);
}

const Column* Table::find(std::string_view name) const {
  for (const Column& column : columns_) {
    if (column.name() == name) return &column;
  }
  return nullptr;
}

void Table::take(const std::vector<uint32_t>& rows) {
  for (Column& column : columns_) column.take(rows);
}

}  // namespace stepscope
