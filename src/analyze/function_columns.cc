#include "analyze/function_columns.h"

namespace stepscope {

std::string no_functions_note() {
  return "no function calls in this trace (torch.profiler records them with with_stack=True); the "
         "view tree shows what there is";
}

}  // namespace stepscope
