// Paths that lie elsewhere: URLs that fsspec knows (abfs://container/job), mlflow://RUN/PATH. The
// stores' libraries are Python's, so the interpreter beside this command is asked
// (python/stepscope/_transfer.py); what it brings lies in a temporary folder until this process
// ends.
//
//   const auto paths = bring_here("abfs://container/job");   // {"/tmp/stepscope-x1y2/job"}
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace stepscope::cli {

// The path itself where it is not remote. A remote one of a job with several nodes may be several.
Result<std::vector<std::string>> bring_here(const std::string& path);

// The same where only one will do.
Result<std::string> bring_one_here(const std::string& path);

// Sends a run to a URL; "mlflow://" is the MLflow run that the environment names. Takes no longer
// than STEPSCOPE_UPLOAD_TIMEOUT says (120 s), and says in one line how it went.
void upload_run(const std::string& folder, const std::string& url, const std::string& python);

}  // namespace stepscope::cli
