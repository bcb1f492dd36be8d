// The views of a job: ranks, collectives, groups.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "analyze/job.h"
#include "analyze/text_value.h"

namespace stepscope {
namespace {

int64_t to_whole_ns(double ns) { return std::llround(std::clamp(ns, -9e18, 9e18)); }

void push_or_null(Column& column, std::string_view text) {
  text.empty() ? column.push_null() : column.push(text);
}

std::vector<std::string> describe_ranks(const Job& job) {
  std::vector<std::string> lines;
  if (job.ranks.size() < 2) return lines;
  lines.push_back(std::to_string(job.ranks.size()) + " ranks" +
                  (job.is_by_step ? "; a step takes " + text_of_ns(to_whole_ns(job.step_ns)) : "") +
                  ".");
  const std::vector<uint32_t> slow = list_stragglers(job);
  constexpr size_t kMost = 5;
  for (size_t i = 0; i < std::min(slow.size(), kMost); ++i) {
    const JobRank& rank = job.ranks[slow[i]];
    lines.push_back("Rank " + std::to_string(rank.summary.rank) + " is slower by " +
                    text_of_ns(to_whole_ns(rank.excess_ns)) + " per step; cause: " +
                    std::string(cause_name(rank.cause)) + " (" + rank.cause_detail + ").");
  }
  if (slow.size() > kMost) {
    lines.push_back(std::to_string(slow.size() - kMost) + " more ranks are slower.");
  }
  return lines;
}

// Sums over the calls of one kind of collective.
struct CollectiveRow {
  std::set<uint32_t> ranks;
  uint64_t calls = 0;
  double dur_ns = 0;
  double wait_ns = 0;
  uint64_t waits = 0;      // calls that were found on other ranks
  double skew_ns = 0;      // by collective
  double transfer_ns = 0;  // the shortest call of each collective: nobody waited in it
  uint64_t collectives = 0;
  std::map<int64_t, uint64_t> last;  // how often each rank came last
};

using CollectiveKey = std::tuple<uint8_t, uint32_t, int64_t, std::string, int64_t>;

class CollectiveRows {
 public:
  CollectiveRows(const Job& job, bool by_rank) : job_(job), by_rank_(by_rank) {
    for (const JobRank& rank : job.ranks) is_matched_.emplace_back(rank.summary.calls.size());
    for (const JobCollective& one : job.collectives) add(one);
    for (uint32_t r = 0; r < job.ranks.size(); ++r) {
      for (uint32_t c = 0; c < job.ranks[r].summary.calls.size(); ++c) {
        if (!is_matched_[r][c]) add_alone(r, c);
      }
    }
  }

  const std::map<CollectiveKey, CollectiveRow>& rows() const { return rows_; }

 private:
  CollectiveRow& row_of(uint32_t r, uint32_t c) {
    const RankSummary& summary = job_.ranks[r].summary;
    const CollectiveShape& shape = summary.shapes[summary.calls[c].shape];
    const uint32_t id = job_.ranks[r].groups[shape.group];
    return rows_[{static_cast<uint8_t>(shape.type), id, shape.bytes, shape.dtype,
                  by_rank_ ? summary.rank : -1}];
  }

  CollectiveRow& add_call(uint32_t r, uint32_t c) {
    const CollectiveCall& call = job_.ranks[r].summary.calls[c];
    CollectiveRow& row = row_of(r, c);
    row.ranks.insert(r);
    ++row.calls;
    row.dur_ns += static_cast<double>(call.end_ns - call.start_ns);
    return row;
  }

  void add(const JobCollective& one) {
    int64_t shortest_ns = INT64_MAX;
    for (const auto& [r, c] : one.members) {
      const CollectiveCall& call = job_.ranks[r].summary.calls[c];
      shortest_ns = std::min(shortest_ns, call.end_ns - call.start_ns);
    }
    bool is_counted = false;
    for (const auto& [r, c] : one.members) {
      is_matched_[r][c] = true;
      CollectiveRow& row = add_call(r, c);
      const JobRank& rank = job_.ranks[r];
      const CollectiveCall& call = rank.summary.calls[c];
      const int64_t start_ns = job_.aligned_ns(rank, call.start_ns);
      const int64_t until_ns = std::min(one.last_start_ns, job_.aligned_ns(rank, call.end_ns));
      row.wait_ns += static_cast<double>(std::max<int64_t>(0, until_ns - start_ns));
      ++row.waits;
      if (is_counted && !by_rank_) continue;
      is_counted = true;
      row.skew_ns += static_cast<double>(one.last_start_ns - one.first_start_ns);
      row.transfer_ns += static_cast<double>(shortest_ns);
      ++row.collectives;
      ++row.last[job_.ranks[one.last_rank].summary.rank];
    }
  }

  void add_alone(uint32_t r, uint32_t c) {
    const CollectiveCall& call = job_.ranks[r].summary.calls[c];
    CollectiveRow& row = add_call(r, c);
    row.transfer_ns += static_cast<double>(call.end_ns - call.start_ns);
    ++row.collectives;
  }

  const Job& job_;
  const bool by_rank_;
  std::vector<std::vector<bool>> is_matched_;
  std::map<CollectiveKey, CollectiveRow> rows_;
};

std::string group_text(const JobGroup& group) {
  if (group.name.empty()) return group.description;
  return group.description.empty() ? group.name : group.name + " (" + group.description + ")";
}

int64_t group_size(const JobGroup& group) {
  return group.size > 0 ? group.size : static_cast<int64_t>(group.ranks.size());
}

// What a group is for, by the words of its description: frameworks and device meshes say it.
std::string_view find_parallelism(const JobGroup& group, int64_t world_size) {
  std::string word;
  for (const char c : group.description + " " + group.name + " ") {
    const char small = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    if (small >= 'a' && small <= 'z') {
      word += small;
      continue;
    }
    if (word == "tp" || word == "tensor") return "tensor";
    if (word == "pp" || word == "pipeline" || word == "pipe") return "pipeline";
    if (word == "ep" || word == "expert") return "expert";
    if (word == "cp" || word == "context" || word == "sp" || word == "sequence") return "context";
    if (word == "dp" || word == "data" || word == "fsdp" || word == "ddp" || word == "shard" ||
        word == "replicate") {
      return "data";
    }
    word.clear();
  }
  return group_size(group) > 1 && group_size(group) == world_size ? "world" : "";
}

}  // namespace

Table make_ranks_table(const Job& job) {
  Table table("ranks");
  Column& rank_number = table.add("rank", ColumnType::kInt);
  const auto ns = [&](const char* name) -> Column& {
    return table.add(name, ColumnType::kInt, Unit::kNs);
  };
  Column& step = ns("step_ns");
  Column& compute = ns("compute_ns");
  Column& communication = ns("communication_ns");
  Column& overlap = ns("overlap_ns");
  Column& wait = ns("wait_ns");
  Column& idle = ns("idle_ns");
  Column& straggler = table.add("straggler", ColumnType::kBool);
  Column& excess = ns("excess_ns");
  Column& cause = table.add("cause", ColumnType::kString);
  Column& detail = table.add("cause_detail", ColumnType::kString);
  Column& copy = ns("copy_ns");
  Column& input = ns("input_ns");
  Column& own = ns("own_ns");
  Column& steps = table.add("steps", ColumnType::kInt, Unit::kCount);
  Column& offset = ns("clock_offset_ns");
  Column& error = ns("clock_error_ns");
  Column& source = table.add("source", ColumnType::kString);
  const bool has_others = job.ranks.size() > 1;
  for (const JobRank& rank : job.ranks) {
    const RankTimes& times = rank.times;
    rank_number.push(rank.summary.rank);
    step.push(to_whole_ns(times.step_ns));
    compute.push(to_whole_ns(times.compute_ns));
    communication.push(to_whole_ns(times.communication_ns));
    overlap.push(to_whole_ns(times.overlap_ns));
    job.has_waits ? wait.push(to_whole_ns(times.wait_ns)) : wait.push_null();
    idle.push(to_whole_ns(times.idle_ns));
    straggler.push(int64_t{rank.is_straggler});
    has_others ? excess.push(to_whole_ns(rank.excess_ns)) : excess.push_null();
    push_or_null(cause, cause_name(rank.cause));
    push_or_null(detail, rank.cause_detail);
    copy.push(to_whole_ns(times.copy_ns));
    input.push(to_whole_ns(times.phases[static_cast<size_t>(Phase::kInput)]));
    own.push(to_whole_ns(times.own_ns));
    steps.push(static_cast<int64_t>(rank.summary.steady_steps()));
    rank.clock_offset_ns ? offset.push(*rank.clock_offset_ns) : offset.push_null();
    rank.clock_offset_ns ? error.push(rank.clock_error_ns) : error.push_null();
    source.push(rank.summary.source);
  }
  table.verdict = describe_ranks(job);
  table.notes = job.notes;
  if (!job.is_by_step && !job.ranks.empty()) {
    table.notes.emplace_back("there are no steps: figures are of whole traces");
  }
  if (!has_others && !job.ranks.empty()) {
    table.notes.emplace_back(
        "one rank alone: who waited for whom needs the others' traces (stepscope ranks)");
  }
  return table;
}

Table make_collectives_table(const Job& job, bool by_rank) {
  Table table("collectives");
  Column& type = table.add("type", ColumnType::kString);
  Column& group = table.add("group", ColumnType::kString);
  Column& size = table.add("size_bytes", ColumnType::kInt, Unit::kBytes);
  Column& dtype = table.add("dtype", ColumnType::kString);
  Column& rank =
      table.add(by_rank ? "rank" : "ranks", ColumnType::kInt, by_rank ? Unit::kNone : Unit::kCount);
  Column& calls = table.add("calls", ColumnType::kInt, Unit::kCount);
  Column& total = table.add("total_ns", ColumnType::kInt, Unit::kNs);
  Column& mean = table.add("mean_ns", ColumnType::kInt, Unit::kNs);
  Column& wait = table.add("wait_ns", ColumnType::kInt, Unit::kNs);
  Column& skew = table.add("skew_ns", ColumnType::kInt, Unit::kNs);
  Column& transfer = table.add("transfer_ns", ColumnType::kInt, Unit::kNs);
  Column& bandwidth = table.add("bus_bytes_per_s", ColumnType::kInt, Unit::kBytes);
  Column& last = table.add("last_rank", ColumnType::kInt);
  const CollectiveRows rows(job, by_rank);
  for (const auto& [key, row] : rows.rows()) {
    const auto& [type_id, group_id, bytes, dtype_name, rank_number] = key;
    const auto kind = static_cast<CollectiveType>(type_id);
    const JobGroup& of = job.groups[group_id];
    type.push(collective_name(kind));
    push_or_null(group, group_text(of));
    bytes >= 0 ? size.push(bytes) : size.push_null();
    push_or_null(dtype, dtype_name);
    rank.push(by_rank ? rank_number : static_cast<int64_t>(row.ranks.size()));
    calls.push(static_cast<int64_t>(row.calls));
    total.push(to_whole_ns(row.dur_ns));
    mean.push(to_whole_ns(row.dur_ns / static_cast<double>(row.calls)));
    const bool has_others = row.waits > 0;
    const auto times = static_cast<double>(std::max<uint64_t>(1, row.collectives));
    has_others ? wait.push(to_whole_ns(row.wait_ns / static_cast<double>(row.waits)))
               : wait.push_null();
    has_others ? skew.push(to_whole_ns(row.skew_ns / times)) : skew.push_null();
    const double transfer_ns = row.transfer_ns / times;
    transfer.push(to_whole_ns(transfer_ns));
    if (bytes > 0 && transfer_ns > 0) {
      const int64_t ranks = group_size(of) > 0 ? group_size(of) : job.world_size;
      bandwidth.push(
          to_whole_ns(static_cast<double>(bytes) * bus_factor(kind, ranks) / (transfer_ns * 1e-9)));
    } else {
      bandwidth.push_null();
    }
    const auto most =
        std::max_element(row.last.begin(), row.last.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    has_others&& most != row.last.end() ? last.push(most->first) : last.push_null();
  }
  table.default_sort = "-total_ns";
  table.notes = job.notes;
  if (rows.rows().empty()) table.notes.emplace_back("no collectives in these traces");
  return table;
}

Table make_groups_table(const Job& job) {
  Table table("groups");
  Column& name = table.add("name", ColumnType::kString);
  Column& description = table.add("description", ColumnType::kString);
  Column& parallelism = table.add("parallelism", ColumnType::kString);
  Column& size = table.add("size", ColumnType::kInt, Unit::kCount);
  Column& ranks = table.add("ranks", ColumnType::kString);
  Column& collectives = table.add("collectives", ColumnType::kInt, Unit::kCount);
  Column& wait = table.add("wait_ns", ColumnType::kInt, Unit::kNs);
  std::vector<uint64_t> counts(job.groups.size());
  std::vector<double> waits(job.groups.size());
  for (const JobCollective& one : job.collectives) {
    ++counts[one.group];
    waits[one.group] += static_cast<double>(one.last_start_ns - one.first_start_ns);
  }
  for (size_t i = 0; i < job.groups.size(); ++i) {
    const JobGroup& group = job.groups[i];
    push_or_null(name, group.name);
    push_or_null(description, group.description);
    push_or_null(parallelism, find_parallelism(group, job.world_size));
    group_size(group) > 0 ? size.push(group_size(group)) : size.push_null();
    push_or_null(ranks, text_of_ranks({group.ranks.begin(), group.ranks.end()}));
    collectives.push(static_cast<int64_t>(counts[i]));
    counts[i] > 0 ? wait.push(to_whole_ns(waits[i] / static_cast<double>(counts[i])))
                  : wait.push_null();
  }
  table.notes = job.notes;
  return table;
}

}  // namespace stepscope
