// CallStats: what Python's pstats does with a profile, on a CallProfile: adding others, taking
// folders off file names, sorting, and the lines that it prints, character for character. The
// package's stepscope.pstats is a face of it.
//
//   CallStats stats = *CallStats(*decode_prof(bytes, "x.prof")).without_folders();
//   CallStats::Rows rows = stats.sort({{CallStats::Field::kTotal, true}});
//   std::string lines = stats.format_stats(rows);
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "trace/call_profile.h"

namespace stepscope {

class CallStats {
 public:
  using Rows = std::vector<uint32_t>;  // entries of the profile, in some order

  // In the order of pstats' sort tuples.
  enum class Field : uint8_t {
    kPrimitiveCalls,
    kCalls,
    kSelf,
    kTotal,
    kFile,
    kLine,
    kName,
    kStandardName,
  };
  struct SortKey {
    Field field;
    bool is_descending;
  };
  struct Totals {
    int64_t calls = 0;
    int64_t primitive_calls = 0;
    double self_s = 0;
    size_t name_width = 0;            // of the longest standard name
    std::vector<uint32_t> top_level;  // functions that an old profiler called itself
  };
  struct Callee {
    uint32_t function;
    CallProfile::Caller caller;
  };

  explicit CallStats(CallProfile profile) : profile_(std::move(profile)) {}

  const CallProfile& profile() const { return profile_; }
  Totals totals() const;

  // Both fail where callers with and without times would have to be added.
  Status add(const CallStats& other);
  Result<CallStats> without_folders() const;

  Rows rows() const;  // all, as they lie
  // Stable.
  Rows sort(std::span<const SortKey> keys) const;

  // "file:line(name)"; "{name}" of a built-in function. Widths are in characters.
  std::string standard_name(uint32_t function) const;
  size_t standard_width(uint32_t function) const;
  size_t standard_width(std::span<const uint32_t> rows) const;

  // One line for each row.
  std::string format_stats(std::span<const uint32_t> rows) const;
  // With their heading. `width` is that of the first column. Fail where an old profile names a
  // caller that has no entry.
  Result<std::string> format_callers(std::span<const uint32_t> rows, size_t width) const;
  Result<std::string> format_callees(std::span<const uint32_t> rows, size_t width);

  // By function. Worked out once: as in pstats, what is added later does not change them.
  const std::vector<std::vector<Callee>>& callees();
  bool has_callees() const { return callees_.has_value(); }
  void drop_callees() { callees_.reset(); }

 private:
  void append_heading(std::string& out, size_t width, std::string_view title) const;
  Status append_call_line(std::string& out, size_t width, uint32_t function, std::string_view arrow,
                          std::vector<Callee> others) const;
  void append_standard_name(std::string& out, uint32_t function) const;
  bool comes_before(uint32_t a, uint32_t b) const;

  CallProfile profile_;
  std::optional<std::vector<std::vector<Callee>>> callees_;
};

// As "%8.3f" of Python.
void append_seconds(std::string& out, double seconds);

}  // namespace stepscope
