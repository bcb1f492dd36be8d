// `stepscope record --profiler-server`: a TensorFlow or JAX program is asked through the server
// that it opened.
#pragma once

#include <string>

namespace stepscope::cli {

struct RecordServerOptions {
  std::string server;  // HOST:PORT
  std::string duration;
  std::string folder;
  std::string python;
  bool overwrite = false;
  bool python_calls = false;
  bool quiet = false;
};

// Gives the exit code. `called_as` is argv[0].
int record_server(const RecordServerOptions& options, const std::string& called_as);

}  // namespace stepscope::cli
