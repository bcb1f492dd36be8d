// Api: what a viewer asks, and the answers (docs/viewer.md, "Requests"). Knows nothing of how they
// travel: over HTTP, into a file, to another program.
//
//   Api api(*runs);
//   ApiAnswer answer = api.answer({.path = "table", .parameters = {{"view", "operators"}}});
//   answer.status, answer.body      // 200, {"view": "operators", …}
//
// A request is hostile: any path, any parameters. Several threads may ask at once.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/runs.h"
#include "serve/runs_job.h"
#include "serve/tile_cache.h"

namespace stepscope::serve {

inline constexpr int kStatusFine = 200;
inline constexpr int kStatusBadRequest = 400;
inline constexpr int kStatusNotFound = 404;
inline constexpr int kStatusWrongMethod = 405;
inline constexpr int kStatusFault = 500;

inline constexpr std::string_view kJsonType = "application/json";
inline constexpr std::string_view kBytesType = "application/octet-stream";

using ApiParameters = std::vector<std::pair<std::string, std::string>>;

struct ApiRequest {
  std::string path;  // "tiles"
  ApiParameters parameters;
  bool has_body = false;  // sent with POST
  std::string body;
  // Asked now and then by what may take long; true: no one waits for the answer any more.
  std::function<bool()> should_stop;
};

struct ApiAnswer {
  static ApiAnswer json(std::string text) {
    return {kStatusFine, std::string(kJsonType), std::move(text)};
  }
  static ApiAnswer error(int status, std::string_view message);

  int status = kStatusFine;
  std::string type;
  std::string body;
};

struct ApiOptions {
  bool can_sql = true;
  size_t tile_cache_bytes = size_t{64} << 20;
};

class Api {
 public:
  explicit Api(Runs& runs, const ApiOptions& options = {})
      : runs_(runs), options_(options), tiles_(options.tile_cache_bytes), jobs_(runs) {}

  ApiAnswer answer(const ApiRequest& request);

 private:
  ApiAnswer answer_runs(const ApiRequest& request);

  Runs& runs_;
  ApiOptions options_;
  TileCache tiles_;
  RunsJob jobs_;
};

}  // namespace stepscope::serve
