#include "analyze/diff.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/phase_times.h"
#include "analyze/row_order.h"
#include "analyze/steady_steps.h"
#include "analyze/step_spans.h"
#include "analyze/text_value.h"
#include "analyze/walk_in_time.h"
#include "trace/function_name.h"
#include "trace/nesting.h"

namespace stepscope {
namespace {

constexpr double kErrors = 2.5;         // so many standard errors are no chance any more
constexpr double kLeastOfStep = 0.005;  // smaller changes are no news
constexpr int64_t kDefaultLimit = 40;

// A mean over steps, from what each step had.
class Mean {
 public:
  void add(double value) {
    sum_ += value;
    squares_ += value * value;
  }
  double mean(size_t steps) const { return sum_ / static_cast<double>(steps); }
  // Of the mean. Steps in which it did not happen count as 0.
  double error(size_t steps) const {
    if (steps < 2) return 0;
    const auto n = static_cast<double>(steps);
    const double variance = std::max(0.0, squares_ / n - mean(steps) * mean(steps));
    return std::sqrt(variance / (n - 1));
  }

 private:
  double sum_ = 0;
  double squares_ = 0;
};

// What is compared of one trace, by section and name.
struct Side {
  using Key = std::pair<std::string, std::string>;

  size_t steps = 0;  // 0: the whole is compared
  size_t samples() const { return std::max<size_t>(1, steps); }
  Mean step;
  std::map<Key, Mean> times;
};

// A function by its file's name and its own: lines move, and folders differ.
std::string name_of(const Trace& trace, const Label& label) {
  const std::string_view text = trace.string(label.name);
  if (label.kind == SliceKind::kOperator) return std::string(text);
  const FunctionName function = parse_function_name(text);
  if (function.file.empty()) return std::string(text);
  return std::string(function.file.substr(function.file.rfind('/') + 1)) + ": " +
         std::string(function.name);
}

class Reader {
 public:
  Reader(const Trace& trace, bool by_steps) : trace_(trace) {
    const auto spans = StepSpans::of(trace);
    if (by_steps) steady_ = SteadySteps::find(trace, *spans);
    side_.steps = steady_.steps.size();
    for (const Step& step : steady_.steps) {
      times_.push_back(step.span);
      side_.step.add(static_cast<double>(step.span.end_ns - step.span.begin_ns));
    }
    if (times_.empty()) {
      times_.push_back({trace.begin_ns(), trace.end_ns()});
      side_.step.add(static_cast<double>(trace.end_ns() - trace.begin_ns()));
    }
  }

  Side read() {
    read_phases();
    for (const Track& track : trace_.tracks()) {
      if (track.kind == TrackKind::kThread) read_track(track);
    }
    return std::move(side_);
  }

 private:
  void read_phases() {
    if (steady_.empty()) return;
    for (const PhaseTimes& phases : find_phase_times(trace_, steady_.steps)) {
      for (size_t i = 0; i < kPhases; ++i) {
        side_.times[{"phases", std::string(kPhaseNames[i])}].add(static_cast<double>(phases[i]));
      }
    }
  }

  // Own times, step by step.
  void read_track(const Track& track) {
    std::vector<int64_t> in_step(trace_.labels().size());
    std::vector<uint32_t> touched;
    Nesting nesting;
    const auto close = [&](const Nesting::Slice& slice) {
      int64_t& ns = in_step[index(slice.label)];
      if (ns == 0) touched.push_back(index(slice.label));
      ns += slice.self_ns();
    };
    for (const Interval& time : times_) {
      walk_in_time(
          trace_, track, time, nesting, [](uint32_t, bool) {}, close);
      for (const uint32_t label : touched) {
        add(LabelId{label}, in_step[label]);
        in_step[label] = 0;
      }
      touched.clear();
    }
  }

  void add(LabelId id, int64_t ns) {
    const Label& label = trace_.labels()[id];
    const bool is_function = label.kind == SliceKind::kPython || label.kind == SliceKind::kCall;
    if (!is_function && label.kind != SliceKind::kOperator) return;
    if (ns <= 0) return;
    side_.times[{is_function ? "functions" : "operators", name_of(trace_, label)}].add(
        static_cast<double>(ns));
  }

  const Trace& trace_;
  SteadySteps steady_;
  std::vector<Interval> times_;
  Side side_;
};

TimeChange change_of(const Mean* before, size_t before_steps, const Mean* after,
                     size_t after_steps) {
  TimeChange change;
  change.has_noise = before_steps > 1 && after_steps > 1;
  if (before != nullptr) {
    change.before_ns = before->mean(before_steps);
    change.before_error_ns = before->error(before_steps);
  }
  if (after != nullptr) {
    change.after_ns = after->mean(after_steps);
    change.after_error_ns = after->error(after_steps);
  }
  return change;
}

class DiffTable {
 public:
  explicit DiffTable(Table& table)
      : section_(table.add("section", ColumnType::kString)),
        name_(table.add("name", ColumnType::kString)),
        before_(table.add("before_ns", ColumnType::kInt, Unit::kNs)),
        after_(table.add("after_ns", ColumnType::kInt, Unit::kNs)),
        change_(table.add("change_ns", ColumnType::kInt, Unit::kNs)),
        fraction_(table.add("change_fraction", ColumnType::kDouble, Unit::kFraction)),
        certain_(table.add("certain", ColumnType::kBool)) {}

  void push(std::string_view section, std::string_view name, const TimeChange& change) {
    section_.push(section);
    name_.push(name);
    before_.push(std::lround(change.before_ns));
    after_.push(std::lround(change.after_ns));
    change_.push(std::lround(change.change_ns()));
    change.before_ns > 0 ? fraction_.push(change.change_fraction()) : fraction_.push_null();
    change.has_noise ? certain_.push(int64_t{change.is_certain()}) : certain_.push_null();
  }

 private:
  Column &section_, &name_, &before_, &after_, &change_, &fraction_, &certain_;
};

struct Row {
  const Side::Key* key;
  TimeChange change;
};

std::vector<Row> find_changes(const Side& before, const Side& after, double step_ns) {
  std::vector<Row> rows;
  const auto add = [&](const Side::Key& key, const Mean* a, const Mean* b) {
    const TimeChange change = change_of(a, before.samples(), b, after.samples());
    if (key.first == "phases" || std::abs(change.change_ns()) >= kLeastOfStep * step_ns) {
      rows.push_back({&key, change});
    }
  };
  for (const auto& [key, mean] : before.times) {
    const auto other = after.times.find(key);
    add(key, &mean, other == after.times.end() ? nullptr : &other->second);
  }
  for (const auto& [key, mean] : after.times) {
    if (!before.times.contains(key)) add(key, nullptr, &mean);
  }
  // Phases, then operators, then functions; what changed most comes first.
  const auto rank = [](const Row& row) {
    return row.key->first == "phases" ? 0 : row.key->first == "operators" ? 1 : 2;
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    return std::abs(a.change.change_ns()) > std::abs(b.change.change_ns());
  });
  std::erase_if(rows, [](const Row& row) {
    return row.key->first == "phases" && row.change.before_ns == 0 && row.change.after_ns == 0;
  });
  return rows;
}

std::string describe_step(const TimeChange& step, bool has_steps) {
  const std::string what = has_steps ? "A step takes " : "It takes ";
  std::string text = what + text_of_ns(std::lround(step.before_ns)) + " in the first and " +
                     text_of_ns(std::lround(step.after_ns)) + " in the second";
  if (step.has_noise && !step.is_certain()) {
    return text + ": no difference can be told from the noise between steps.";
  }
  return text + ": " + text_of_fraction(std::abs(step.change_fraction())) +
         (step.change_ns() <= 0 ? " less." : " more.");
}

// "input -52 ms, augment -40 ms"
std::string describe_most(const std::vector<Row>& rows, bool is_faster) {
  std::vector<const Row*> wanted;
  for (const Row& row : rows) {
    const bool is_news = !row.change.has_noise || row.change.is_certain();
    if (is_news && row.change.change_ns() != 0 && (row.change.change_ns() < 0) == is_faster) {
      wanted.push_back(&row);
    }
  }
  std::stable_sort(wanted.begin(), wanted.end(), [](const Row* a, const Row* b) {
    return std::abs(a->change.change_ns()) > std::abs(b->change.change_ns());
  });
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(4, wanted.size()); ++i) {
    const Row& row = *wanted[i];
    text += (text.empty() ? "" : ", ") + row.key->second + " " + (is_faster ? "-" : "+") +
            text_of_ns(std::lround(std::abs(row.change.change_ns())));
  }
  return text;
}

}  // namespace

bool TimeChange::is_certain() const {
  const double error = std::hypot(before_error_ns, after_error_ns);
  return has_noise && std::abs(change_ns()) > kErrors * error && change_ns() != 0;
}

double TimeChange::certain_growth() const {
  if (before_ns <= 0) return 0;
  const double error = std::hypot(before_error_ns, after_error_ns);
  return (change_ns() - (has_noise ? kErrors * error : 0)) / before_ns;
}

Result<Diff> compare(const Trace& before, const Trace& after, const TableOptions& options) {
  const bool has_steps = !SteadySteps::find(before, *StepSpans::of(before)).empty() &&
                         !SteadySteps::find(after, *StepSpans::of(after)).empty();
  const Side first = Reader(before, has_steps).read();
  const Side second = Reader(after, has_steps).read();
  Diff diff;
  diff.step = change_of(&first.step, first.samples(), &second.step, second.samples());
  const std::vector<Row> rows = find_changes(first, second, diff.step.before_ns);
  DiffTable out(diff.table);
  out.push(has_steps ? "step" : "whole", has_steps ? "step" : "all", diff.step);
  for (const Row& row : rows) out.push(row.key->first, row.key->second, row.change);

  diff.table.verdict.push_back(describe_step(diff.step, has_steps));
  if (const std::string faster = describe_most(rows, true); !faster.empty()) {
    diff.table.verdict.push_back("Faster: " + faster + ".");
  }
  if (const std::string slower = describe_most(rows, false); !slower.empty()) {
    diff.table.verdict.push_back("Slower: " + slower + ".");
  }
  if (!has_steps) {
    diff.table.notes.emplace_back("without steps in both traces there is nothing to tell noise by");
  }
  if (Status status = filter_rows(diff.table, options.filter); !status) return status;
  if (!options.sort.empty()) {
    if (Status status = sort_rows(diff.table, options.sort); !status) return status;
  }
  limit_rows(diff.table, options.limit < 0 ? kDefaultLimit : options.limit);
  return diff;
}

}  // namespace stepscope
