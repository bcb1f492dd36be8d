#include "serve/api.h"

#include <algorithm>
#include <array>
#include <string>
#include <variant>

#include "base/saturating.h"
#include "serve/api_parameters.h"
#include "serve/api_requests.h"
#include "serve/json_writer.h"

namespace stepscope::serve {
namespace {

struct OneRunRequest {
  std::string_view path;
  ApiAnswer (*answer)(const OpenRun&, const ApiRequest&);
};
constexpr auto kOneRunRequests = std::to_array<OneRunRequest>({
    {"tracks", answer_tracks},
    {"labels", answer_labels},
    {"slice", answer_slice},
    {"search", answer_search},
    {"table", answer_table},
    {"what-if", answer_what_if},
    {"flame", answer_flame},
    {"memory-flow", answer_memory_flow},
});

struct TwoRunsRequest {
  std::string_view path;
  ApiAnswer (*answer)(const OpenRun& a, const OpenRun& b, const ApiRequest&);
};
constexpr auto kTwoRunsRequests = std::to_array<TwoRunsRequest>({
    {"diff", answer_diff},
    {"diff-flame", answer_diff_flame},
});

constexpr std::string_view kSqlPath = "sql";

using FoundRun = std::variant<OpenRun, ApiAnswer>;

FoundRun find_run(Runs& runs, const ApiRequest& request, std::string_view parameter) {
  const auto id = get_integer(request, parameter, 0, 0, INT32_MAX);
  if (!id) return ApiAnswer::error(kStatusBadRequest, id.status().message());
  const RunInfo info = runs.load(static_cast<size_t>(*id));
  if (!info.trace) {
    return ApiAnswer::error(kStatusNotFound,
                            info.error.empty() ? "no run " + std::to_string(*id) : info.error);
  }
  return OpenRun{static_cast<size_t>(*id), info.version, info.trace};
}

template <typename Make>
ApiAnswer with_run(Runs& runs, const ApiRequest& request, std::string_view parameter,
                   const Make& make) {
  FoundRun found = find_run(runs, request, parameter);
  if (ApiAnswer* error = std::get_if<ApiAnswer>(&found)) return std::move(*error);
  return make(std::get<OpenRun>(found));
}

}  // namespace

ApiAnswer ApiAnswer::error(int status, std::string_view message) {
  JsonWriter json;
  json.begin_object();
  json.field("error", message);
  json.end_object();
  return {status, std::string(kJsonType), std::move(json).text()};
}

ApiAnswer Api::answer(const ApiRequest& request) {
  if (request.has_body != (request.path == kSqlPath)) {
    return ApiAnswer::error(kStatusWrongMethod, request.has_body ? "only sql is asked with POST"
                                                                 : "sql is asked with POST");
  }
  if (request.path == "runs") return answer_runs(request);
  if (request.path == "tiles") {
    return with_run(runs_, request, "run",
                    [&](const OpenRun& run) { return answer_tiles(run, request, tiles_); });
  }
  if (request.path == "job") return answer_job(jobs_, request);
  if (request.path == kSqlPath && options_.can_sql) {
    return with_run(runs_, request, "run",
                    [&](const OpenRun& run) { return answer_sql(run, request); });
  }
  for (const OneRunRequest& known : kOneRunRequests) {
    if (known.path != request.path) continue;
    return with_run(runs_, request, "run",
                    [&](const OpenRun& run) { return known.answer(run, request); });
  }
  for (const TwoRunsRequest& known : kTwoRunsRequests) {
    if (known.path != request.path) continue;
    return with_run(runs_, request, "a", [&](const OpenRun& a) {
      return with_run(runs_, request, "b",
                      [&](const OpenRun& b) { return known.answer(a, b, request); });
    });
  }
  return ApiAnswer::error(kStatusNotFound, "no such request");
}

ApiAnswer Api::answer_runs(const ApiRequest& request) {
  const auto wanted = get_integer(request, "run", -1, 0, INT32_MAX);
  if (!wanted) return ApiAnswer::error(kStatusBadRequest, wanted.status().message());
  if (*wanted >= 0) runs_.load(static_cast<size_t>(*wanted));
  JsonWriter json;
  json.begin_object();
  json.key("runs").begin_array();
  size_t id = 0;
  for (const RunInfo& run : runs_.info()) {
    json.begin_object();
    json.field("id", id++);
    json.field("name", run.name);
    json.field("path", run.path);
    json.field("format", run.trace ? run.trace->format() : std::string());
    json.field("span_ns", run.trace
                              ? subtract_saturating(run.trace->end_ns(), run.trace->begin_ns())
                              : int64_t{0});
    json.field("clock_base_ns",
               run.trace && run.trace->clock_base_ns() != 0
                   ? add_saturating(run.trace->clock_base_ns(), run.trace->begin_ns())
                   : int64_t{0});
    json.field("slices", run.trace ? run.trace->slices().size() : 0U);
    json.field("version", run.version);
    json.field("is_live", run.is_live);
    json.field("job", run.job);
    if (!run.trace && run.error.empty()) json.field("is_waiting", true);
    if (run.error.empty()) {
      json.null_field("error");
    } else {
      json.field("error", run.error);
    }
    json.end_object();
  }
  json.end_array();
  json.key("can").begin_object();
  json.field("sql", options_.can_sql);
  json.field("diff", true);
  json.field("what_if", true);
  json.field("job", true);
  json.end_object();
  json.end_object();
  return ApiAnswer::json(std::move(json).text());
}

}  // namespace stepscope::serve
