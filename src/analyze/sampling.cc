#include "analyze/sampling.h"

#include "trace/torch_scopes.h"

namespace stepscope {

double operator_share(const Trace& trace) {
  const std::vector<Label>& labels = trace.labels().all();
  std::vector<uint8_t> is_sampling(labels.size());
  bool has_any = false;
  for (size_t i = 0; i < labels.size(); ++i) {
    is_sampling[i] = trace.string(labels[i].category) == kSamplingCategory;
    has_any |= is_sampling[i] != 0;
  }
  if (!has_any) return 1;
  const SliceColumns& slices = trace.slices();
  int64_t whole_ns = 0;
  int64_t windows_ns = 0;
  for (uint32_t row = 0; row < slices.size(); ++row) {
    if (is_sampling[index(slices.label[row])] == 0) continue;
    (slices.depth[row] == 0 ? whole_ns : windows_ns) += slices.dur_ns[row];
  }
  if (windows_ns <= 0 || windows_ns >= whole_ns) return 1;
  return static_cast<double>(windows_ns) / static_cast<double>(whole_ns);
}

}  // namespace stepscope
