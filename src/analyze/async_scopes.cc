#include "analyze/async_scopes.h"

#include <string_view>

#include "analyze/operator_rules.h"
#include "trace/torch_scopes.h"

namespace stepscope {

bool goes_on_in_background(const Trace& trace, uint32_t row) {
  const SliceColumns& slices = trace.slices();
  const Track& track = trace.tracks()[index(trace.find_track_of(SliceId{row}))];
  // Those within it follow it, one level deeper or more.
  for (uint32_t at = row + 1; at < track.first_slice + track.slice_count; ++at) {
    if (slices.depth[at] <= slices.depth[row]) return false;
    const Label& label = trace.labels()[slices.label[at]];
    const std::string_view name = trace.string(label.name);
    if (label.kind == SliceKind::kPython || label.kind == SliceKind::kStep) return true;
    if (label.kind == SliceKind::kAnnotation && !is_communication_scope(name)) return true;
    if (label.kind == SliceKind::kOperator && is_backward_node(name)) return true;
  }
  return false;
}

}  // namespace stepscope
