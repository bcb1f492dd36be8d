// Finding: a diagnosed problem of a program: what it is, what it costs, where it is, what to
// change.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/table.h"
#include "trace/ids.h"

namespace stepscope {

// By what is at stake: see severity_of().
enum class Severity : uint8_t { kInfo, kWarning, kCritical };
std::string_view severity_name(Severity severity);

// A figure that shows it, in the unit of a table's column.
struct Figure {
  std::string name;  // "input per step"
  double value = 0;
  Unit unit = Unit::kNone;
};

struct Finding {
  std::string id;  // docs/findings.md
  Severity severity = Severity::kInfo;
  std::string title;  // a sentence with the main figure in it
  std::string where;  // "file:line function", empty where no stack is known
  // The share of the step's time (of the whole time where there are no steps) that a perfect fix
  // saves.
  double at_stake_fraction = 0;
  std::vector<Figure> figures;
  std::vector<SliceId> slices;  // some that show it
  std::string fix;              // a sentence
  std::string code;             // the lines to change, where code helps
  // Told though little is at stake: about the recording, or about what is in the way of more.
  bool is_note = false;
  // Ids of findings that are this one seen from another side: not listed by themselves.
  std::vector<std::string> includes;
};

using Findings = std::vector<Finding>;

}  // namespace stepscope
