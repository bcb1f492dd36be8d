// A table for a terminal: fits its width, values as people read them, names shortened in the
// middle, colours only when asked for. What does not fit is left out from the right, and that is
// said.
//
//   render_text(table, {.width = 80}, sink);
//
//   name                 calls  self host  total host
//   ─────────────────────────────────────────────────
//   aten::convolution…   1,234   98.59 ms    177.6 ms
#pragma once

#include "analyze/render.h"

namespace stepscope {

void render_text(const Table& table, const TextStyle& style, const TextSink& sink);

}  // namespace stepscope
