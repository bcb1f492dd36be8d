#include "cli/load_trace.h"

#include "cli/terminal.h"
#include "ingest/load.h"

namespace stepscope::cli {

Result<Trace> load_trace(const std::string& path) {
  ProgressBar bar(path == "-" ? "standard input" : path);
  LoadOptions options;
  options.progress = [&bar](double fraction) { bar.show(fraction); };
  return load(path, options);
}

}  // namespace stepscope::cli
