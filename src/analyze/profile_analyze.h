// `stepscope analyze`: what MegEngine's profile_analyze does, for every trace with operators: lists
// those that took longest, filtered, aggregated and ordered.
//
//   Result<ProfileAnalysis> analysis = analyze_profile(trace, {.top = 5, .aggregate_by_type =
//   true}); for (const ProfileRow& row : analysis->device) use(row.time_s, row.flops_per_s());
//
// Times are seconds and computed as there, to the last bit, so that rows come in the same order and
// are printed with the same figures. What is missing is kMissing: last in every order, and left out
// of a sum, a mean's too, and of the largest and the smallest.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/operator_records.h"
#include "analyze/table.h"
#include "base/status.h"
#include "trace/trace.h"

namespace stepscope {

enum class Aggregate : uint8_t { kNone, kMax, kMin, kSum, kMean };

struct ProfileQuery {
  int64_t top = 3;  // rows; 0: all
  std::vector<std::string> types;
  std::string opr_name;  // a regular expression that names begin with
  std::string input_dtype;
  bool to_kernel = false;  // --top-end-key kern
  Aggregate aggregate = Aggregate::kNone;
  bool aggregate_by_type = false;
  std::string order_by = "time";  // "+" before it: ascending
  double min_time_s = -std::numeric_limits<double>::infinity();
  double max_time_s = std::numeric_limits<double>::infinity();
  bool copy_time = false;
};

// An operator, or several.
struct ProfileRow {
  std::string name;  // "" where it is several
  std::string type;
  std::string id;
  uint64_t count = 1;
  bool is_aggregate = false;
  double time_s = 0;
  double cumulative_s = 0;  // with all rows before it
  double computation = kMissing;
  double memory = kMissing;
  std::optional<std::vector<Shape>> in_shapes;
  std::optional<std::vector<Shape>> in_layouts;
  std::optional<std::vector<Shape>> out_shapes;
  std::string bound;  // "compute", "memory", "overhead"; "" where it is not known

  // Divided by a time of 0 they are infinite, or not a number.
  double flops_per_s() const { return computation / time_s; }
  double bytes_per_s() const { return memory / time_s; }
};

struct CopyTimes {
  double total_s = 0;
  double mean_s = 0;
};

struct ProfileAnalysis {
  std::vector<ProfileRow> device;
  std::vector<ProfileRow> host;
  double device_s = kMissing;  // of all operators, whatever was asked for
  double host_s = kMissing;
  // Of operators of type Copy, and how long they waited; with copy_time.
  std::optional<CopyTimes> copy, copy_wait;
  bool is_static = false;
  std::vector<std::string> notes;
};

Result<ProfileAnalysis> analyze_profile(const Trace& trace, const ProfileQuery& query);

// The rows as a table of the view "analyze", for all formats but MegEngine's own text.
Table profile_table(const ProfileAnalysis& analysis, bool of_host);

// numpy's sum: pairwise, in blocks.
double pairwise_sum(const double* values, size_t count);

}  // namespace stepscope
