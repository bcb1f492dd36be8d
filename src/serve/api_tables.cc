// What is answered with a table: views, those of a job, what-if, SQL, two runs compared.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "advise/all_views.h"
#include "advise/job_view.h"
#include "advise/what_if_table.h"
#include "analyze/diff.h"
#include "analyze/render.h"
#include "analyze/sql.h"
#include "serve/api_parameters.h"
#include "serve/api_requests.h"

namespace stepscope::serve {
namespace {

constexpr size_t kMaxJsonBytes = size_t{256} << 20;
constexpr size_t kMaxWhatIfs = 32;
constexpr int64_t kDefaultSqlRows = 10'000;
constexpr int64_t kMaxSqlRows = 1'000'000;
constexpr std::chrono::seconds kMaxSqlTime{30};

ApiAnswer render(const Table& table) {
  std::string text;
  bool is_too_large = false;
  render_table(table, TableFormat::kJson, {}, [&](std::string_view chunk) {
    is_too_large = is_too_large || text.size() + chunk.size() > kMaxJsonBytes;
    if (!is_too_large) text += chunk;
  });
  if (is_too_large) {
    return ApiAnswer::error(kStatusBadRequest, "the table is larger than 256 MB: set a limit");
  }
  return ApiAnswer::json(std::move(text));
}

Result<TableOptions> read_options(const ApiRequest& request) {
  TableOptions options;
  options.sort = get_text(request, "sort");
  options.filter = get_text(request, "filter");
  options.track = get_text(request, "track");
  options.by = get_text(request, "by");
  options.within = get_text(request, "within");
  options.weight = get_text(request, "weight");
  const auto limit = get_integer(request, "limit", -1, -1, INT64_MAX);
  if (!limit) return limit.status();
  options.limit = *limit;
  const auto depth = get_integer(request, "depth", -1, -1, INT32_MAX);
  if (!depth) return depth.status();
  options.depth = static_cast<int>(*depth);
  const auto begin_ns = get_integer(request, "begin_ns", 0, 0, INT64_MAX);
  if (!begin_ns) return begin_ns.status();
  const auto end_ns = get_integer(request, "end_ns", INT64_MAX, 0, INT64_MAX);
  if (!end_ns) return end_ns.status();
  options.range = {*begin_ns, *end_ns};
  const auto heaviest = get_flag(request, "heaviest");
  if (!heaviest) return heaviest.status();
  options.heaviest = *heaviest;
  return options;
}

}  // namespace

ApiAnswer answer_table(const OpenRun& run, const ApiRequest& request) {
  const std::string name = get_text(request, "view");
  if (find_any_view(name) == nullptr) {
    return ApiAnswer::error(kStatusNotFound, unknown_view(name, all_views()).message());
  }
  const auto options = read_options(request);
  if (!options) return ApiAnswer::error(kStatusBadRequest, options.status().message());
  if (!options->by.empty() && std::find(kTableGroupings.begin(), kTableGroupings.end(),
                                        options->by) == kTableGroupings.end()) {
    return ApiAnswer::error(kStatusBadRequest, "by: unknown way to group '" + options->by + "'");
  }
  const auto table = make_any_view(*run.trace, name, *options);
  if (!table) return ApiAnswer::error(kStatusBadRequest, table.status().message());
  return render(*table);
}

ApiAnswer answer_job(RunsJob& jobs, const ApiRequest& request) {
  const std::string name = get_text(request, "view");
  if (!is_job_view(name)) {
    return ApiAnswer::error(kStatusNotFound, unknown_job_view(name).message());
  }
  const auto options = read_options(request);
  if (!options) return ApiAnswer::error(kStatusBadRequest, options.status().message());
  if (!options->by.empty() && options->by != kByRank) {
    return ApiAnswer::error(kStatusBadRequest, "by: unknown way to group '" + options->by + "'");
  }
  const auto run = get_integer(request, "run", 0, 0, INT32_MAX);
  if (!run) return ApiAnswer::error(kStatusBadRequest, run.status().message());
  const auto with_waiting = get_flag(request, "waiting");
  if (!with_waiting) return ApiAnswer::error(kStatusBadRequest, with_waiting.status().message());
  const auto job = jobs.get(static_cast<size_t>(*run), {*with_waiting, request.should_stop});
  if (!job) return ApiAnswer::error(kStatusNotFound, job.status().message());
  const auto table = make_job_view(**job, name, *options);
  if (!table) return ApiAnswer::error(kStatusBadRequest, table.status().message());
  return render(*table);
}

ApiAnswer answer_what_if(const OpenRun& run, const ApiRequest& request) {
  std::vector<std::string> what;
  for (const auto& [name, value] : request.parameters) {
    if (name == "what") what.push_back(value);
  }
  if (what.empty() || what.size() > kMaxWhatIfs) {
    return ApiAnswer::error(kStatusBadRequest, "what: expected 1 to 32 of them");
  }
  const auto table = what_if(*run.trace, what);
  if (!table) return ApiAnswer::error(kStatusBadRequest, table.status().message());
  return render(*table);
}

ApiAnswer answer_sql(const OpenRun& run, const ApiRequest& request) {
  const auto limit = get_integer(request, "limit", kDefaultSqlRows, 1, kMaxSqlRows);
  if (!limit) return ApiAnswer::error(kStatusBadRequest, limit.status().message());
  const auto deadline = std::chrono::steady_clock::now() + kMaxSqlTime;
  bool is_late = false;
  SqlOptions options;
  options.max_rows = static_cast<uint64_t>(*limit);
  options.should_stop = [&] {
    is_late = std::chrono::steady_clock::now() > deadline;
    return is_late || (request.should_stop && request.should_stop());
  };
  const auto table = run_sql(*run.trace, request.body, options);
  if (is_late) return ApiAnswer::error(kStatusBadRequest, "stopped: it took more than 30 s");
  if (!table) return ApiAnswer::error(kStatusBadRequest, table.status().message());
  return render(*table);
}

ApiAnswer answer_diff(const OpenRun& a, const OpenRun& b, const ApiRequest& request) {
  const auto options = read_options(request);
  if (!options) return ApiAnswer::error(kStatusBadRequest, options.status().message());
  const auto diff = compare(*a.trace, *b.trace, *options);
  if (!diff) return ApiAnswer::error(kStatusBadRequest, diff.status().message());
  return render(diff->table);
}

}  // namespace stepscope::serve
