// A run with what the profilers of TensorFlow and JAX wrote into its folder:
// RUN/tensorflow-<pid>/plugins/profile/<time>/<host>.xplane.pb. Their planes are further processes
// of the run's trace, on its clock; both sides know the time of day.
#pragma once

#include <string>

#include "base/status.h"
#include "ingest/load.h"
#include "trace/trace.h"

namespace stepscope {

// As load_run(). A profile that can not be read is left out with a note.
Result<Trace> load_run_with_profiles(const std::string& folder, const LoadOptions& options);

}  // namespace stepscope
