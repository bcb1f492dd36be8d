// One number or text out of a JSON value that a trace carries as text (its metadata). SQLite's JSON
// functions read it; they take any text and bound the depth.
//
//   find_json_field("{\"rank\": 3}", "$.rank");   // "3"
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stepscope {

// `path` as in SQLite's json_extract. Nothing where the text is no JSON or has no such field.
std::optional<std::string> find_json_field(std::string_view json, std::string_view path);

// Whether the text is one JSON value.
bool is_json(std::string_view text);

}  // namespace stepscope
