#include "advise/hot_lines.h"

#include <string>
#include <vector>

#include "advise/finding_text.h"
#include "analyze/line_times.h"

namespace stepscope {
namespace {

constexpr uint64_t kLeastLooks = 20;  // at the function
constexpr double kHotLine = 0.25;     // of the function's time
constexpr double kMostOfFunction = 0.5;

// The first with the text: where one is defined twice, the lines of both are in it.
const LabelId* find_function(const Case& c, const std::vector<LabelId>& functions,
                             const std::string& where) {
  for (const LabelId& label : functions) {
    if (c.place(label) == where) return &label;
  }
  return nullptr;
}

void tell_hot_line(const Case& c, const LineTimes& times, LabelId function, Finding& finding) {
  const std::string_view name = c.trace.string(c.trace.labels()[function].name);
  const std::vector<LineTime> lines = times.of(parse_function_name(name));
  uint64_t looks = 0;
  int64_t total_ns = 0;
  for (const LineTime& line : lines) {
    looks += line.looks;
    total_ns += line.total_ns();
  }
  if (looks < kLeastLooks || total_ns <= 0) return;
  const LineTime& hottest = lines.front();
  const double share = static_cast<double>(hottest.total_ns()) / static_cast<double>(total_ns);
  if (share < kHotLine || hottest.line <= 0) return;
  const std::string line = "line " + std::to_string(hottest.line);
  finding.figures.push_back({"in " + line, share, Unit::kFraction});
  if (!finding.title.ends_with(finding.where)) return;
  const std::string part = share >= kMostOfFunction ? "most of it" : in_percent(share) + " of it";
  finding.title += ", " + part + " in " + line;
}

}  // namespace

void tell_hot_lines(const Case& c, const Trace& sampled, Findings& findings) {
  if (findings.empty()) return;
  SliceScope scope;
  if (!c.times.empty()) {
    scope.begin_ns = c.times.intervals().front().begin_ns;
    scope.end_ns = c.times.intervals().back().end_ns;
  }
  const LineTimes times(sampled, scope);
  if (times.looks() < kLeastLooks) return;
  std::vector<LabelId> functions;
  for (uint32_t i = 0; i < c.trace.labels().size(); ++i) {
    if (c.user.is_user_function(LabelId{i})) functions.push_back(LabelId{i});
  }
  for (Finding& finding : findings) {
    if (finding.where.empty()) continue;
    const LabelId* function = find_function(c, functions, finding.where);
    if (function != nullptr) tell_hot_line(c, times, *function, finding);
  }
}

}  // namespace stepscope
