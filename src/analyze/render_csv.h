// A table as CSV (RFC 4180): a line of column names, then a line per row, ended by CR LF; fields
// with a comma, a quote or a line break are quoted; missing is empty, plain numbers in the column's
// unit. What CSV has no place for (stats, notes) the command line says on stderr.
#pragma once

#include "analyze/render.h"

namespace stepscope {

void render_csv(const Table& table, const TextSink& sink);

}  // namespace stepscope
