// The requests, one function each. A new one is a function in one of the api_*.cc files, a line
// here and one in api.cc.
#pragma once

#include "serve/api.h"
#include "serve/runs.h"
#include "serve/runs_job.h"
#include "serve/tile_cache.h"

namespace stepscope::serve {

// A run that is open, for as long as a request takes.
struct OpenRun {
  size_t id = 0;
  uint64_t version = 0;
  std::shared_ptr<const Trace> trace;
};

ApiAnswer answer_tracks(const OpenRun& run, const ApiRequest& request);
ApiAnswer answer_tiles(const OpenRun& run, const ApiRequest& request, TileCache& cache);
ApiAnswer answer_labels(const OpenRun& run, const ApiRequest& request);
ApiAnswer answer_slice(const OpenRun& run, const ApiRequest& request);
ApiAnswer answer_search(const OpenRun& run, const ApiRequest& request);

ApiAnswer answer_table(const OpenRun& run, const ApiRequest& request);
ApiAnswer answer_job(RunsJob& jobs, const ApiRequest& request);
ApiAnswer answer_what_if(const OpenRun& run, const ApiRequest& request);
ApiAnswer answer_sql(const OpenRun& run, const ApiRequest& request);
ApiAnswer answer_diff(const OpenRun& a, const OpenRun& b, const ApiRequest& request);

ApiAnswer answer_flame(const OpenRun& run, const ApiRequest& request);
ApiAnswer answer_diff_flame(const OpenRun& a, const OpenRun& b, const ApiRequest& request);
ApiAnswer answer_memory_flow(const OpenRun& run, const ApiRequest& request);

}  // namespace stepscope::serve
