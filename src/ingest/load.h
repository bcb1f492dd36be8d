// load(): any file that Stepscope knows, to a Trace. The format is found by content, never by name;
// .gz and .zst are seen through; "-" is standard input; a folder stands for the one trace in it,
// for the run that was recorded into it, or for the newest profile of a TensorBoard log. A new
// format is one file in this folder and one line in the registry in load.cc.
//
//   Result<Trace> trace = load("trace.json.gz", {});
//   if (!trace) fail(trace.status().message());   // "trace.json.gz: no such file"
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "trace/trace.h"

namespace stepscope {

struct LoadOptions {
  std::function<void(double fraction)>
      progress;                          // now and then, from the calling thread; may be empty
  int threads = 0;                       // 0: as many as there are cores
  size_t chunk_bytes = size_t{1} << 18;  // of text that is parsed at once; small for tests
};

Result<Trace> load(const std::string& path, const LoadOptions& options = {});

// The same from memory; `name` is for messages. For tests and fuzzers.
Result<Trace> load_bytes(std::string_view bytes, const std::string& name,
                         const LoadOptions& options = {});

}  // namespace stepscope
