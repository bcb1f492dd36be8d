#include "analyze/function_columns.h"

#include "analyze/text_value.h"

namespace stepscope {

std::string sample_note(const CallGraph& graph) {
  return "times are estimated from " + text_of_count(static_cast<int64_t>(graph.samples)) +
         " samples; samples do not count calls";
}

std::string no_functions_note() {
  return "no function calls in this trace (torch.profiler records them with with_stack=True); the "
         "view tree shows what there is";
}

}  // namespace stepscope
