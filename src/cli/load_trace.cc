#include "cli/load_trace.h"

#include "cli/commands.h"
#include "cli/remote_path.h"
#include "cli/terminal.h"
#include "ingest/load.h"
#include "ingest/trace_paths.h"

namespace stepscope::cli {

Result<Trace> load_trace(const std::string& path) {
  ProgressBar bar(path == "-" ? "standard input" : path);
  LoadOptions options;
  options.progress = [&bar](double fraction) { bar.show(fraction); };
  return load(path, options);
}

Result<std::string> find_trace(const std::string& path) {
  const auto here = bring_one_here(path);
  return here ? find_trace_file(*here) : here.status();
}

std::vector<std::string> bring_all_here(const std::vector<std::string>& paths) {
  std::vector<std::string> all;
  for (const std::string& path : paths) {
    const auto here = bring_here(path);
    if (!here) {
      print_fault(here.status());
      continue;
    }
    all.insert(all.end(), here->begin(), here->end());
  }
  return all;
}

}  // namespace stepscope::cli
