// TraceFault: a failed Status on its way to Python, where it is stepscope.TraceError.
#pragma once

#include <stdexcept>

namespace stepscope {

struct TraceFault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace stepscope
