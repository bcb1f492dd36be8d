// PlaneStats: what the stats of a plane's events become: arguments of slices, in a column for each
// name and type. A name is read when it is first needed, and resolved to its columns once; most
// stats then take a few instructions. Texts are mended where they are no UTF-8.
//
//   PlaneStats stats(builder, damage);
//   stats.begin_plane();
//   stats.names().add(id, {message});  …  stats.names().settle();
//   stats.begin_line();
//   StatRole role = stats.add(slice, value);
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/id_table.h"
#include "ingest/xplane_event.h"
#include "trace/trace_builder.h"

namespace stepscope::xplane {

inline constexpr ArgColumnRef kNoColumn{UINT32_MAX};

// What a stat says of its event, besides being an argument.
enum StatRole : uint8_t { kNoRole = 0, kStepNumber = 1, kHloOp = 2, kCorrelation = 4 };

// What is known of a stat's id.
struct StatName {
  std::string_view message;
  bool is_resolved = false;
  StatRole role = kNoRole;
  StringId name = kEmptyString;
  std::array<ArgColumnRef, 3> columns = {kNoColumn, kNoColumn, kNoColumn};  // int, double, string
  std::string_view last_text;  // interned as last_string
  StringId last_string = kEmptyString;
};

class PlaneStats {
 public:
  PlaneStats(TraceBuilder& builder, Damage& damage) : builder_(builder), damage_(damage) {}

  void begin_plane();
  IdTable<StatName>& names() { return names_; }
  void begin_line();
  // Once a line has begun: the memory for all of its events, as far as it goes on as it began.
  void reserve(uint64_t events, uint64_t events_read);

  // The few instructions that most stats take; all others go the long way.
  StatRole add(SliceRef slice, const StatValue& value) {
    const StatName* name = names_.find(value.id);
    if (name == nullptr || name->role != kNoRole) return add_any(slice, value);
    if (value.type == ValueType::kInt && name->columns[0] != kNoColumn) {
      ArgColumn& column = builder_.arg_values(name->columns[0]);
      column.rows.push_back(SliceId{index(slice)});
      column.ints.push_back(static_cast<int64_t>(value.bits));
      return kNoRole;
    }
    if (value.type == ValueType::kReference && name->columns[2] != kNoColumn) {
      const StatName* text = names_.find(value.bits);
      if (text != nullptr && text->is_resolved) {
        ArgColumn& column = builder_.arg_values(name->columns[2]);
        column.rows.push_back(SliceId{index(slice)});
        column.ints.push_back(index(text->name));
        return kNoRole;
      }
    }
    return add_any(slice, value);
  }

  // Null where the file has none.
  StatName* find_name(uint64_t id);
  // The value as text for metadata; nullopt for bytes and for what is unknown.
  std::optional<std::string> text_of(const StatValue& value);
  std::string mend(std::string_view text);

 private:
  struct UsedColumn {
    ArgColumnRef column;
    size_t rows_before_line;
  };

  StringId intern(std::string_view text);
  StatRole add_any(SliceRef slice, const StatValue& value);
  void add_text(StatName& name, SliceId row, StringId text);
  void add_correlation(SliceRef slice, const StatValue& value);
  ArgColumn& column_of(StatName& name, size_t type);

  TraceBuilder& builder_;
  Damage& damage_;
  IdTable<StatName> names_;
  std::vector<UsedColumn> columns_;
  std::optional<ArgColumnRef> correlation_;
  bool line_is_reserved_ = false;
  bool has_bytes_ = false;
};

}  // namespace stepscope::xplane
