#include "advise/what_if_table.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "advise/advise.h"
#include "advise/step_replay.h"
#include "advise/what_if.h"

namespace stepscope {
namespace {

struct Answer {
  std::string what;
  int64_t step_ns = 0;
  int64_t new_step_ns = 0;
};

// What is left of the time: 0.5 of "2x", 0 of "0".
std::optional<float> parse_left(std::string_view text) {
  double factor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  if (error != std::errc() || !(factor >= 0) || std::isinf(factor)) return std::nullopt;
  if (unit.empty() && factor == 0) return 0.0f;
  if (unit != "x" || factor <= 0) return std::nullopt;
  return static_cast<float>(1 / factor);
}

Result<Answer> answer_scale(const Trace& trace, const StepReplay& replay, std::string_view name,
                            std::string_view factor) {
  const std::optional<float> left = parse_left(factor);
  if (!left) {
    return Status::error("--what-if " + std::string(name) + "=" + std::string(factor) +
                         ": write NAME=2x, or NAME=0 for none of it");
  }
  WhatIf other(trace);
  if (!other.scale(name, *left)) {
    return Status::error("--what-if: no function, operator or kernel '" + std::string(name) +
                         "' in this trace");
  }
  const std::string what =
      std::string(name) + (*left == 0 ? " gone" : " " + std::string(factor) + " as fast");
  return Answer{what, replay.step_ns(), replay.step_ns(other)};
}

Result<Answer> answer_finding(const Trace& trace, const StepReplay& replay, const std::string& id) {
  std::string known;
  for (const Finding& finding : Advice::of(trace)->findings) {
    if (finding.id == id) {
      const auto step_ns = static_cast<double>(replay.step_ns());
      return Answer{id + " mended", replay.step_ns(),
                    std::lround(step_ns * (1 - finding.at_stake_fraction))};
    }
    known += (known.empty() ? "" : ", ") + finding.id;
  }
  return Status::error("--what-if: no finding '" + id + "' in this trace; there are: " +
                       (known.empty() ? "none" : known) + " (or write NAME=2x)");
}

}  // namespace

Result<Table> what_if(const Trace& trace, const std::vector<std::string>& requests) {
  const auto replay = StepReplay::of(trace);
  if (replay->empty()) return Status::error("--what-if: no training steps in this trace");
  Table table("what-if");
  Column& what = table.add("what_if", ColumnType::kString);
  Column& step = table.add("step_ns", ColumnType::kInt, Unit::kNs);
  Column& new_step = table.add("new_step_ns", ColumnType::kInt, Unit::kNs);
  Column& saved = table.add("saved_fraction", ColumnType::kDouble, Unit::kFraction);
  for (const std::string& request : requests) {
    const size_t sign = request.rfind('=');
    const auto answer =
        sign == request.npos
            ? answer_finding(trace, *replay, request)
            : answer_scale(trace, *replay, std::string_view(request).substr(0, sign),
                           std::string_view(request).substr(sign + 1));
    if (!answer) return answer.status();
    what.push(answer->what);
    step.push(answer->step_ns);
    new_step.push(answer->new_step_ns);
    saved.push(replay->saved(answer->step_ns, answer->new_step_ns));
  }
  table.stats = trace.stats();
  return table;
}

}  // namespace stepscope
