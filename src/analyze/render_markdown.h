// A table as GitHub Markdown, for issues and pull requests: values as people read them, numbers to
// the right, everything in a name that Markdown or HTML would take for markup escaped.
#pragma once

#include "analyze/render.h"

namespace stepscope {

void render_markdown(const Table& table, const TextSink& sink);

}  // namespace stepscope
