// A table as JSON: {"view", "columns": [{"name", "unit"}], "rows": [[...]], "stats": {...}}, a row
// per line. Times are integers in ns, sizes in bytes, fractions 0..1, missing is null. `stats` has
// every counter that is not 0, `rows_total` (rows before --limit), and `notes` where there are any.
// The text is always valid UTF-8.
#pragma once

#include <string>
#include <string_view>

#include "analyze/render.h"

namespace stepscope {

void render_json(const Table& table, const TextSink& sink);

// The text in quotes, with everything escaped that JSON wants escaped and bad UTF-8 replaced.
void append_json_string(std::string& out, std::string_view text);

}  // namespace stepscope
