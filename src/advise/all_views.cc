#include "advise/all_views.h"

#include <algorithm>
#include <vector>

#include "advise/advise.h"
#include "advise/input_answers.h"

namespace stepscope {
namespace {

constexpr std::string_view kOverview = "overview";
constexpr std::string_view kInput = "input";

// After the overview, which is the first.
std::vector<View> list_views() {
  std::vector<View> list(views().begin(), views().end());
  list.insert(list.begin() + 1, View{"findings", "what is wrong, what it costs and what to change",
                                     "", 0, findings, nullptr});
  return list;
}

bool is_whole(const TableOptions& options) {
  return options.range == TimeRange{} && options.track.empty();
}

}  // namespace

std::span<const View> all_views() {
  static const std::vector<View> list = list_views();
  return list;
}

const View* find_any_view(std::string_view name) {
  const std::span<const View> all = all_views();
  const auto it =
      std::find_if(all.begin(), all.end(), [&](const View& view) { return view.name == name; });
  return it == all.end() ? nullptr : &*it;
}

Result<Table> make_any_view(const Trace& trace, std::string_view name,
                            const TableOptions& options) {
  const View* view = find_any_view(name);
  if (view == nullptr) return unknown_view(name, all_views());
  Result<Table> table = make_view(trace, *view, options);
  // It is about the whole trace.
  if (!table || !is_whole(options)) return table;
  if (name == kOverview) table->verdict = Advice::of(trace)->verdict.lines;
  if (name == kInput) table->verdict = answer_input_questions(trace);
  return table;
}

}  // namespace stepscope
