#include "advise/job_view.h"

#include <algorithm>
#include <utility>

#include "advise/job_advice.h"
#include "analyze/row_order.h"

namespace stepscope {
namespace {

constexpr int64_t kJobRows = 50;

Table make_whole_job_view(const Job& job, std::string_view name, const TableOptions& options) {
  if (name == "collectives") return make_collectives_table(job, options.by == kByRank);
  if (name == "groups") return make_groups_table(job);
  if (name == "findings") {
    Table table = make_findings_table(advise_job(job));
    table.notes.insert(table.notes.end(), job.notes.begin(), job.notes.end());
    return table;
  }
  return make_ranks_table(job);
}

}  // namespace

const std::vector<std::string>& job_view_names() {
  static const std::vector<std::string> names = {"ranks", "collectives", "groups", "findings"};
  return names;
}

bool is_job_view(std::string_view name) {
  const std::vector<std::string>& names = job_view_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

Status unknown_job_view(std::string_view name) {
  std::string known;
  for (const std::string& one : job_view_names()) known += (known.empty() ? "" : ", ") + one;
  return Status::error("unknown view of a job '" + std::string(name) + "'; there are: " + known);
}

Result<Table> make_job_view(const Job& job, std::string_view name, const TableOptions& options) {
  if (!is_job_view(name)) return unknown_job_view(name);
  Table table = make_whole_job_view(job, name, options);
  if (const Status status = order_rows(table, options, kJobRows); !status) return status;
  return table;
}

}  // namespace stepscope
