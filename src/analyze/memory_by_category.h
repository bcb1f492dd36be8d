// The view `memory --by category`.
#pragma once

#include "analyze/slice_filter.h"
#include "analyze/table.h"
#include "trace/trace.h"

namespace stepscope {

// A row per moment and device: the bytes that each category of memory holds from then on. The
// peaks are in the notes.
Table make_memory_by_category(const Trace& trace, const SliceFilter& filter);

}  // namespace stepscope
