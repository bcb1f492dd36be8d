#include "analyze/diff_side.h"

#include <array>
#include <string_view>
#include <vector>

#include "analyze/row_order.h"
#include "analyze/text_value.h"
#include "analyze/utf8.h"

namespace stepscope {
namespace {

constexpr double kErrors = 2.5;       // so many standard errors are no chance any more
constexpr double kLeastNews = 0.005;  // of a step: smaller changes are no news
constexpr int64_t kDefaultLimit = 40;
constexpr size_t kLongestName = 60;  // of a kernel, in a sentence
constexpr std::array<std::string_view, 5> kSections = {"phases", "operators", "kernels",
                                                       "functions", "ranks"};

TimeChange change_of(const DiffMean* before, size_t before_steps, const DiffMean* after,
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

struct DiffRow {
  const DiffSide::Key* key;
  TimeChange change;
};

std::vector<DiffRow> find_changes(const DiffSide& before, const DiffSide& after, double step_ns) {
  std::vector<DiffRow> rows;
  const auto add = [&](const DiffSide::Key& key, const DiffMean* a, const DiffMean* b) {
    const TimeChange change = change_of(a, before.samples(key.first), b, after.samples(key.first));
    if (key.first == "phases" || std::abs(change.change_ns()) >= kLeastNews * step_ns) {
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
  // Sections in their order; what changed most comes first.
  const auto rank = [](const DiffRow& row) {
    return std::find(kSections.begin(), kSections.end(), row.key->first) - kSections.begin();
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const DiffRow& a, const DiffRow& b) {
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    return std::abs(a.change.change_ns()) > std::abs(b.change.change_ns());
  });
  std::erase_if(rows, [](const DiffRow& row) {
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
std::string describe_most(const std::vector<DiffRow>& rows, bool is_faster) {
  std::vector<const DiffRow*> wanted;
  for (const DiffRow& row : rows) {
    const bool is_news = !row.change.has_noise || row.change.is_certain();
    if (is_news && row.change.change_ns() != 0 && (row.change.change_ns() < 0) == is_faster) {
      wanted.push_back(&row);
    }
  }
  std::stable_sort(wanted.begin(), wanted.end(), [](const DiffRow* a, const DiffRow* b) {
    return std::abs(a->change.change_ns()) > std::abs(b->change.change_ns());
  });
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(4, wanted.size()); ++i) {
    const DiffRow& row = *wanted[i];
    text += (text.empty() ? "" : ", ") + elide_middle(row.key->second, kLongestName) + " " +
            (is_faster ? "-" : "+") + text_of_ns(std::lround(std::abs(row.change.change_ns())));
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

Result<Diff> finish_diff(const DiffSide& first, const DiffSide& second, bool has_steps,
                         const TableOptions& options) {
  Diff diff;
  diff.step = change_of(&first.step, first.samples(), &second.step, second.samples());
  const std::vector<DiffRow> rows = find_changes(first, second, diff.step.before_ns);
  DiffTable out(diff.table);
  out.push(has_steps ? "step" : "whole", has_steps ? "step" : "all", diff.step);
  for (const DiffRow& row : rows) out.push(row.key->first, row.key->second, row.change);

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
