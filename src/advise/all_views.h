// All views that there are: those of analyze, and `findings`. The one way for front ends.
//
//   Result<Table> table = make_any_view(trace, "findings", {});
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "analyze/views.h"

namespace stepscope {

// What TableOptions::by may be; a view passes over those that are not for it.
inline constexpr std::array<std::string_view, 15> kTableGroupings = {
    "shape", "stack",  "operator",   "category", "time", "thread", "line", "rank",
    "type",  "stream", "annotation", "call",     "edge", "event",  "graph"};

std::span<const View> all_views();
const View* find_any_view(std::string_view name);

// As make_view(). The overview begins with the verdict.
Result<Table> make_any_view(const Trace& trace, std::string_view name, const TableOptions& options);

}  // namespace stepscope
