#include "advise/rank_reader.h"

#include "ingest/load.h"

namespace stepscope {

Result<RankSummary> read_rank(const std::string& path, const SummaryOptions& options) {
  LoadOptions load_options;
  load_options.threads = 1;
  const Result<Trace> trace = load(path, load_options);
  if (trace) return summarize_rank(*trace, options);
  const std::string& message = trace.status().message();
  if (!message.starts_with(path + ":")) return trace.status();
  return Status::error(options.source + message.substr(path.size()));
}

}  // namespace stepscope
