#include "cli/dump_tasks_text.h"

#include <algorithm>
#include <string>
#include <vector>

#include "analyze/utf8.h"

namespace stepscope::cli {
namespace {

constexpr size_t kMaxShownNames = 3;

bool stand_at_same_place(const DumpTask& a, const DumpTask& b) {
  if (a.state != b.state || a.awaits != b.awaits || a.tid != b.tid) return false;
  if (!a.waits_for.empty() || !b.waits_for.empty()) return false;
  return std::equal(a.frames.begin(), a.frames.end(), b.frames.begin(), b.frames.end(),
                    [](const DumpFrame& x, const DumpFrame& y) {
                      return x.is_same_place(y) && x.locals.empty() && y.locals.empty();
                    });
}

class TaskTree {
 public:
  TaskTree(DumpLines& lines, const std::vector<DumpTask>& tasks)
      : lines_(lines), tasks_(tasks), is_shown_(tasks.size() + 1) {}

  void append() {
    std::vector<bool> is_awaited(tasks_.size() + 1);
    for (const DumpTask& task : tasks_) {
      for (const uint64_t id : task.waits_for) is_awaited[id] = true;
    }
    std::vector<uint64_t> roots;
    for (const DumpTask& task : tasks_) {
      if (!is_awaited[task.id]) roots.push_back(task.id);
    }
    append_level(0, roots);
    // Those of a ring.
    for (const DumpTask& task : tasks_) {
      if (!is_shown_[task.id]) append_level(0, {task.id});
    }
  }

 private:
  const DumpTask& task(uint64_t id) const { return tasks_[id - 1]; }

  void append_level(size_t level, const std::vector<uint64_t>& ids) {
    std::vector<std::vector<uint64_t>> groups;
    for (const uint64_t id : ids) {
      const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
        return stand_at_same_place(task(group.front()), task(id));
      });
      if (same == groups.end()) {
        groups.push_back({id});
      } else {
        same->push_back(id);
      }
    }
    for (const auto& group : groups) append_group(level, group);
  }

  void append_group(size_t level, const std::vector<uint64_t>& group) {
    const DumpTask& first = task(group.front());
    if (is_shown_[first.id] && group.size() == 1) {
      lines_.add_plain(level, printable(first.name) + ": see above");
      return;
    }
    for (const uint64_t id : group) is_shown_[id] = true;
    lines_.add_plain(level, names_of(group) + ": " + describe(first));
    append_frames(lines_, level + 1, first.frames);
    append_level(level + 1, first.waits_for);
  }

  std::string names_of(const std::vector<uint64_t>& group) const {
    std::string names;
    const size_t shown = std::min(group.size(), kMaxShownNames);
    for (size_t i = 0; i < shown; ++i) {
      if (i > 0) names += ", ";
      names += printable(task(group[i]).name);
    }
    if (group.size() > shown) names += " and " + std::to_string(group.size() - shown) + " more";
    return names;
  }

  static std::string describe(const DumpTask& task) {
    std::string text = task.state;
    if (task.state == "running" && task.tid != 0) {
      text += " in thread " + std::to_string(task.tid);
    } else if (task.waits_for.size() == 1) {
      text += " for a task";
    } else if (!task.waits_for.empty()) {
      text += " for " + std::to_string(task.waits_for.size()) + " tasks";
    } else if (!task.awaits.empty()) {
      text += " for " + printable(task.awaits);
    }
    return text;
  }

  DumpLines& lines_;
  const std::vector<DumpTask>& tasks_;
  std::vector<bool> is_shown_;  // by id
};

}  // namespace

void append_tasks(DumpLines& lines, const ProcessDump& dump) {
  if (dump.tasks.empty()) return;
  lines.add_empty();
  const size_t count = dump.tasks.size();
  lines.add_title("Tasks of asyncio", std::to_string(count), false);
  TaskTree(lines, dump.tasks).append();
}

}  // namespace stepscope::cli
