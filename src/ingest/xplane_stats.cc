#include "ingest/xplane_stats.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "ingest/json_text.h"

namespace stepscope::xplane {
namespace {

constexpr size_t kLeastReservedRows = 1 << 16;
constexpr uint64_t kLeastReservedEvents = 1 << 15;

StatRole role_of_stat(std::string_view name) {
  if (name == "step_num") return kStepNumber;
  if (name == "hlo_op") return kHloOp;
  if (name == "correlation_id") return kCorrelation;
  return kNoRole;
}

}  // namespace

void PlaneStats::begin_plane() {
  names_ = {};
  columns_.clear();
}

void PlaneStats::begin_line() {
  line_is_reserved_ = false;
  for (UsedColumn& used : columns_) {
    used.rows_before_line = builder_.arg_values(used.column).rows.size();
  }
}

std::string PlaneStats::mend(std::string_view text) {
  if (simdjson::validate_utf8(text.data(), text.size())) return std::string(text);
  builder_.stats().add(Stat::kEventsMended);
  return mend_text(text);
}

StringId PlaneStats::intern(std::string_view text) {
  if (simdjson::validate_utf8(text.data(), text.size())) return builder_.string(text);
  return builder_.string(mend(text));
}

StatName* PlaneStats::find_name(uint64_t id) {
  StatName* found = names_.find(id);
  if (found == nullptr || found->is_resolved) return found;
  found->is_resolved = true;
  std::string_view name;
  for_each_field(found->message, damage_, [&](protozero::pbf_reader& reader) {
    if (reader.tag_and_type() != stat_metadata::kName) return false;
    name = take_bytes(reader);
    return true;
  });
  found->name = intern(name);
  found->role = role_of_stat(name);
  return found;
}

std::optional<std::string> PlaneStats::text_of(const StatValue& value) {
  switch (value.type) {
    case ValueType::kInt:
      return std::to_string(static_cast<int64_t>(value.bits));
    case ValueType::kDouble:
      return std::to_string(std::bit_cast<double>(value.bits));
    case ValueType::kText:
      return mend(value.text());
    case ValueType::kReference:
      if (const StatName* name = find_name(value.bits)) {
        return std::string(builder_.strings().view(name->name));
      }
      return std::nullopt;
    case ValueType::kBytes:
    case ValueType::kNone:
      break;
  }
  return std::nullopt;
}

// A line goes on as it begins: columns get the memory for all of it at once, because fresh pages
// cost more than what is written to them, each time that a large column grows.
void PlaneStats::reserve(uint64_t events, uint64_t events_read) {
  if (events < kLeastReservedEvents || std::exchange(line_is_reserved_, true)) return;
  for (const UsedColumn& used : columns_) {
    ArgColumn& column = builder_.arg_values(used.column);
    const uint64_t added = column.rows.size() - used.rows_before_line;
    size_t rows = used.rows_before_line + added * events / events_read;
    rows += rows / 64;
    if (rows <= column.rows.capacity() || rows < kLeastReservedRows) continue;
    rows = std::max(rows, column.rows.capacity() / 2 * 3);
    column.rows.reserve(rows);
    if (column.type == ArgType::kDouble) {
      column.doubles.reserve(rows);
    } else {
      column.ints.reserve(rows);
    }
  }
}

StatRole PlaneStats::add_any(SliceRef slice, const StatValue& value) {
  StatName* name = find_name(value.id);
  if (name == nullptr) {
    builder_.stats().add(Stat::kValuesSkipped);
    return kNoRole;
  }
  const SliceId row{index(slice)};
  switch (value.type) {
    case ValueType::kInt: {
      ArgColumn& column = column_of(*name, 0);
      column.rows.push_back(row);
      column.ints.push_back(static_cast<int64_t>(value.bits));
      if (name->role == kCorrelation) add_correlation(slice, value);
      return name->role;
    }
    case ValueType::kDouble: {
      ArgColumn& column = column_of(*name, 1);
      column.rows.push_back(row);
      column.doubles.push_back(std::bit_cast<double>(value.bits));
      return name->role == kStepNumber ? kNoRole : name->role;
    }
    case ValueType::kText:
      if (value.text() != name->last_text) {
        name->last_string = intern(value.text());
        name->last_text = value.text();
      }
      add_text(*name, row, name->last_string);
      return name->role == kStepNumber ? kNoRole : name->role;
    case ValueType::kReference: {
      const StatName* text = find_name(value.bits);
      if (text == nullptr) {
        builder_.stats().add(Stat::kValuesSkipped);
        return kNoRole;
      }
      add_text(*name, row, text->name);
      return name->role == kStepNumber ? kNoRole : name->role;
    }
    case ValueType::kBytes:
      if (!std::exchange(has_bytes_, true)) {
        builder_.stats().note("stats that are bytes are no arguments: '" +
                              std::string(builder_.strings().view(name->name)) + "'");
      }
      break;
    case ValueType::kNone:
      break;
  }
  return kNoRole;
}

void PlaneStats::add_text(StatName& name, SliceId row, StringId text) {
  ArgColumn& column = column_of(name, 2);
  column.rows.push_back(row);
  column.ints.push_back(index(text));
}

// Also under the key that launches are bound by, as Kineto has it.
void PlaneStats::add_correlation(SliceRef slice, const StatValue& value) {
  if (!correlation_) correlation_ = builder_.arg_column("correlation", ArgType::kInt);
  builder_.add_int(*correlation_, slice, static_cast<int64_t>(value.bits));
}

ArgColumn& PlaneStats::column_of(StatName& name, size_t type) {
  static constexpr std::array<ArgType, 3> kTypes = {ArgType::kInt, ArgType::kDouble,
                                                    ArgType::kString};
  ArgColumnRef& column = name.columns[type];
  if (column == kNoColumn) {
    column = builder_.arg_column(name.name, kTypes[type]);
    columns_.push_back({column, builder_.arg_values(column).rows.size()});
  }
  return builder_.arg_values(column);
}

}  // namespace stepscope::xplane
