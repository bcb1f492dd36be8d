#include "cli/top_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "analyze/share_interval.h"
#include "analyze/text_value.h"
#include "analyze/utf8.h"
#include "cli/top_text.h"

namespace stepscope::cli {
namespace {

constexpr size_t kShareWidth = 7;         // " 100.0%"
constexpr size_t kForAllShares = 72;      // columns from which on all four shares are shown
constexpr size_t kForThreadDetails = 72;  // and the state and number of threads
constexpr size_t kForPlaces = 30;         // beside the shares
constexpr size_t kForGroups = 16;         // rows from which on shares have a heading of two lines
constexpr size_t kForProcesses = 14;      // and processes are listed
constexpr size_t kSnapshotThreads = 20;
constexpr size_t kSnapshotProcesses = 20;
constexpr size_t kPlacePercent = 45;  // of the room for names and places
constexpr size_t kNowInPercent = 60;
constexpr double kHot = 0.2;
constexpr size_t kMaxNotes = 2;

constexpr std::string_view kKeys =
    "q quit  1-4 sort  t threads  g GIL  i idle  space pause  r reset  ? help";

constexpr std::string_view kHelp[] = {
    "1  sort by own share now         3  by own share since the start",
    "2  sort by total share now       4  by total share since the start",
    "",
    "own: the function was innermost. total: it was on the stack.",
    "now: the last seconds, as the heading says.",
    "Shares are of CPU time: a thread that waits burns nothing.",
    "Chance may make a share wrong by as many points as stand behind +-.",
    "",
    "g      share of the time in which the global lock (GIL) is held",
    "i      share of all threads' time: waiting counts, too",
    "t      threads on and off",
    "space  let the display stand still; sampling goes on",
    "r      begin anew with what is since the start",
    "arrows, PageUp, PageDown, Home, End  scroll the functions",
    "Ctrl-L draw anew        Ctrl-Z to the shell; fg comes back",
    "q      quit             ?  back to the functions",
};

std::string count_text(uint64_t count) { return text_of_count(static_cast<int64_t>(count)); }

std::string_view weight_text(TopWeight weight) {
  switch (weight) {
    case TopWeight::kCpu:
      return "shares of CPU time";
    case TopWeight::kWall:
      return "shares of all threads' time, waiting too";
    case TopWeight::kGil:
      return "shares of the time with the GIL";
  }
  return "";
}

bool is_since_start(TopSort sort) {
  return sort == TopSort::kOwnSinceStart || sort == TopSort::kTotalSinceStart;
}

class Drawing {
 public:
  Drawing(const TopView& view, const TopSettings& settings, TopSize size)
      : view_(view), settings_(settings), size_(size) {}

  TopScreen draw();

 private:
  void add(std::string text, TopStyle style = TopStyle::kPlain) {
    if (!settings_.is_utf8) text = to_ascii(text);
    screen_.lines.push_back({std::move(text), style});
  }
  bool is_endless() const { return size_.rows == 0; }
  // Rows that are still free, above the line of keys.
  size_t rows_left() const {
    const size_t used = screen_.lines.size() + (settings_.is_live ? 1 : 0);
    return size_.rows > used ? size_.rows - used : 0;
  }

  void add_title();
  void add_load();
  void add_sampling();
  void add_notes();
  void add_processes();
  void add_help();
  void add_functions(size_t rows);
  void add_function_heading();
  void add_function(const TopFunction& function);
  void add_reason_for_none();
  size_t rows_for_threads() const;
  void add_threads(size_t rows);
  void add_thread(const TopThread& thread);

  double share(const TopTimes& times, const TopSum& sum) const;
  std::string margin_text(const TopSum& sum) const;
  std::vector<const TopFunction*> sorted_functions() const;
  std::string share_cells(std::string_view own_now, std::string_view total_now,
                          std::string_view own, std::string_view total) const;

  bool has_all_shares() const { return size_.columns >= kForAllShares; }
  bool has_group_heading() const { return is_endless() || size_.rows >= kForGroups; }

  const TopView& view_;
  const TopSettings& settings_;
  const TopSize size_;
  TopScreen screen_;
};

double Drawing::share(const TopTimes& times, const TopSum& sum) const {
  const int64_t all_ns = sum.times.get(settings_.weight);
  if (all_ns <= 0) return 0;
  return static_cast<double>(times.get(settings_.weight)) / static_cast<double>(all_ns);
}

// How far chance may take a share of one half, in points: no share is less sure.
std::string Drawing::margin_text(const TopSum& sum) const {
  const auto samples = static_cast<double>(sum.get_samples(settings_.weight));
  return fmt::format("{:.1f}", (share_interval_95(0.5, samples).high - 0.5) * 100);
}

void Drawing::add_title() {
  const std::vector<TopProcess>& processes = view_.processes;
  std::string what = "stepscope top   ";
  if (processes.size() == 1) {
    what += fmt::format("{}  {}", processes[0].pid, processes[0].command_line);
  } else {
    what += fmt::format("{} processes:", processes.size());
    for (const TopProcess& process : processes) what += fmt::format(" {}", process.pid);
  }
  std::string right;
  if (settings_.is_paused) {
    right = "PAUSED";
  } else if (processes.size() == 1 && processes[0].has_ended) {
    right = "has ended";
  } else {
    std::vector<std::string> versions;
    for (const TopProcess& process : processes) {
      const std::string& python = process.python;
      if (python.empty() || std::count(versions.begin(), versions.end(), python) > 0) continue;
      right += (versions.empty() ? "Python " : ", ") + python;
      versions.push_back(python);
    }
  }
  add(fit_ends(what, right, size_.columns), TopStyle::kTitle);
}

void Drawing::add_load() {
  double cpu = 0;
  size_t threads = 0, running = 0;
  for (const TopProcess& process : view_.processes) {
    cpu += process.cpu_fraction;
    threads += process.threads;
    running += process.running;
  }
  std::vector<std::string> pieces = {"CPU " + percent_text(cpu)};
  if (view_.processes.size() == 1) {
    pieces.push_back("GIL held " + percent_text(view_.processes[0].gil_fraction));
  }
  pieces.push_back(
      fmt::format("threads {}: {} running, {} waiting", threads, running, threads - running));
  if (view_.ended_processes > 0 && view_.processes.size() + view_.ended_processes > 1) {
    pieces.push_back(count_text(view_.ended_processes) + " ended");
  }
  add(fit_pieces(pieces, size_.columns));
}

void Drawing::add_sampling() {
  const uint64_t samples = view_.since_start.get_samples(TopWeight::kWall);
  std::vector<std::string> pieces;
  if (view_.period_ns > 0) {
    pieces.push_back(fmt::format("{:.0f} Hz", 1e9 / static_cast<double>(view_.period_ns)));
  }
  pieces.push_back(span_text(view_.since_start.wall_ns));
  pieces.push_back(count_text(samples) + (samples == 1 ? " sample" : " samples"));
  pieces.push_back(count_text(view_.missed_ticks) +
                   (view_.missed_ticks == 1 ? " tick missed" : " ticks missed"));
  if (view_.torn > 0) pieces.push_back(count_text(view_.torn) + " unreadable");
  if (view_.left_out > 0) pieces.push_back(count_text(view_.left_out) + " left out");
  if (view_.now.get_samples(settings_.weight) > 0) {
    const bool is_utf8 = settings_.is_utf8;
    pieces.push_back(fmt::format("{0}{1} now, {0}{2} since start", is_utf8 ? "±" : "+-",
                                 margin_text(view_.now), margin_text(view_.since_start)));
  }
  add(fit_pieces(pieces, size_.columns));
}

void Drawing::add_notes() {
  for (size_t i = 0; i < std::min(view_.notes.size(), kMaxNotes); ++i) {
    add(elide_middle(printable(view_.notes[i]), size_.columns), TopStyle::kDim);
  }
}

void Drawing::add_processes() {
  if (view_.processes.size() < 2 || (!is_endless() && size_.rows < kForProcesses)) return;
  const size_t room = is_endless() ? kSnapshotProcesses : std::max<size_t>(size_.rows / 6, 2);
  std::vector<const TopProcess*> processes;
  for (const TopProcess& process : view_.processes) processes.push_back(&process);
  std::stable_sort(
      processes.begin(), processes.end(),
      [](const TopProcess* a, const TopProcess* b) { return a->cpu_fraction > b->cpu_fraction; });
  const size_t shown = std::min(processes.size(), room);
  const std::string more =
      shown < processes.size() ? fmt::format(" ({} of {})", shown, processes.size()) : "";
  add(fit_left("    CPU    GIL  threads      pid  process" + more, size_.columns),
      TopStyle::kHeading);
  for (size_t i = 0; i < shown; ++i) {
    const TopProcess& process = *processes[i];
    add(elide_middle(fmt::format("{:>7}{:>7}{:>9}{:>9}  {}", percent_text(process.cpu_fraction),
                                 percent_text(process.gil_fraction), process.threads, process.pid,
                                 printable(process.command_line)),
                     size_.columns));
  }
}

void Drawing::add_help() {
  for (const std::string_view line : kHelp) {
    if (rows_left() == 0) return;
    add(elide_middle(line, size_.columns));
  }
}

// The column of the order has a star. On a narrow screen there are only the two of now, or those
// since the start where these are the order.
std::string Drawing::share_cells(std::string_view own_now, std::string_view total_now,
                                 std::string_view own, std::string_view total) const {
  std::string cells;
  if (has_all_shares() || !is_since_start(settings_.sort)) {
    cells += fit_right(own_now, kShareWidth) + fit_right(total_now, kShareWidth);
  }
  if (has_all_shares() || is_since_start(settings_.sort)) {
    cells += fit_right(own, kShareWidth) + fit_right(total, kShareWidth);
  }
  return cells;
}

struct TextWidths {
  size_t name = 0;
  size_t place = 0;  // 0: none
};

// The name and, in so many percent of the room, the place.
TextWidths widths_beside(size_t columns, size_t used, size_t place_percent) {
  const size_t room = columns > used ? columns - used : 0;
  if (room < kForPlaces) return {room, 0};
  const size_t place = room * place_percent / 100;
  return {room - place - 2, place};
}

void Drawing::add_function_heading() {
  const auto title = [&](std::string_view name, TopSort sort) {
    return (settings_.sort == sort ? "*" : "") + std::string(name);
  };
  if (has_group_heading()) {
    const std::string now = "now (" + span_text(view_.now.wall_ns) + ")";
    std::string groups;
    if (has_all_shares() || !is_since_start(settings_.sort)) {
      groups += fit_right(now, 2 * kShareWidth);
    }
    if (has_all_shares() || is_since_start(settings_.sort)) {
      groups += fit_right("since start", 2 * kShareWidth);
    }
    groups += "  " + std::string(weight_text(settings_.weight));
    add(fit_left(groups, size_.columns), TopStyle::kHeading);
  }
  const std::string shares =
      share_cells(title("own", TopSort::kOwnNow), title("total", TopSort::kTotalNow),
                  title("own", TopSort::kOwnSinceStart), title("total", TopSort::kTotalSinceStart));
  const TextWidths widths = widths_beside(size_.columns, shares.size() + 2, kPlacePercent);
  std::string line = shares + "  " + fit_left("function", widths.name);
  if (widths.place > 0) line += "  " + fit_left("where", widths.place);
  add(fit_left(line, size_.columns), TopStyle::kHeading);
}

void Drawing::add_function(const TopFunction& function) {
  const double own_now = share(function.now.own, view_.now);
  const std::string shares =
      share_cells(percent_text(own_now), percent_text(share(function.now.total, view_.now)),
                  percent_text(share(function.since_start.own, view_.since_start)),
                  percent_text(share(function.since_start.total, view_.since_start)));
  const TextWidths widths = widths_beside(size_.columns, shares.size() + 2, kPlacePercent);
  std::string line = shares + "  " + fit_left(function.name, widths.name);
  if (widths.place > 0) line += "  " + fit_place(function.file, function.first_line, widths.place);
  add(elide_middle(line, size_.columns), own_now >= kHot ? TopStyle::kHot : TopStyle::kPlain);
}

std::vector<const TopFunction*> Drawing::sorted_functions() const {
  const TopWeight weight = settings_.weight;
  const auto key = [&](const TopFunction& function) {
    const int64_t own_now = function.now.own.get(weight);
    const int64_t total_now = function.now.total.get(weight);
    const int64_t own = function.since_start.own.get(weight);
    const int64_t total = function.since_start.total.get(weight);
    switch (settings_.sort) {
      case TopSort::kOwnNow:
        return std::tuple(own_now, total_now, own, total);
      case TopSort::kTotalNow:
        return std::tuple(total_now, own_now, total, own);
      case TopSort::kOwnSinceStart:
        return std::tuple(own, total, own_now, total_now);
      case TopSort::kTotalSinceStart:
        return std::tuple(total, own, total_now, own_now);
    }
    return std::tuple(own_now, total_now, own, total);
  };
  std::vector<const TopFunction*> functions;
  for (const TopFunction& function : view_.functions) {
    const bool is_now = function.now.total.get(weight) > 0;
    const bool is_since = settings_.is_live && function.since_start.total.get(weight) > 0;
    if (is_now || is_since) functions.push_back(&function);
  }
  std::sort(functions.begin(), functions.end(), [&](const TopFunction* a, const TopFunction* b) {
    const auto key_a = key(*a), key_b = key(*b);
    if (key_a != key_b) return key_a > key_b;
    return std::tie(a->name, a->file, a->first_line) < std::tie(b->name, b->file, b->first_line);
  });
  return functions;
}

void Drawing::add_reason_for_none() {
  std::string reason = "no sample yet";
  if (view_.now.get_samples(TopWeight::kWall) > 0) {
    const char* how = settings_.is_live ? "i counts" : "--idle counts";
    reason = settings_.weight == TopWeight::kGil
                 ? "nobody holds the GIL"
                 : fmt::format("all threads wait ({} that as well)", how);
  } else if (!view_.processes.empty() && view_.processes.front().has_ended) {
    reason = "it ended before there was a sample";
  }
  add(elide_middle("  " + reason, size_.columns), TopStyle::kDim);
}

void Drawing::add_functions(size_t rows) {
  const std::vector<const TopFunction*> functions = sorted_functions();
  screen_.page_rows = rows;
  screen_.scroll =
      std::min(settings_.scroll, functions.size() > rows ? functions.size() - rows : size_t{0});
  const size_t end = std::min(screen_.scroll + rows, functions.size());
  for (size_t i = screen_.scroll; i < end; ++i) add_function(*functions[i]);
  if (functions.empty() && rows > 0) add_reason_for_none();
  if (!settings_.is_live && end < functions.size()) {
    add(fmt::format("  and {} more (--limit 0 for all)", functions.size() - end), TopStyle::kDim);
  }
}

size_t Drawing::rows_for_threads() const {
  if (!settings_.with_threads || view_.threads.empty()) return 0;
  if (is_endless()) return std::min(view_.threads.size(), kSnapshotThreads) + 1;
  const size_t rows = std::min(view_.threads.size() + 1, rows_left() / 3);
  return rows >= 2 ? rows : 0;
}

void Drawing::add_threads(size_t rows) {
  if (rows < 2) return;
  std::vector<const TopThread*> threads;
  for (const TopThread& thread : view_.threads) threads.push_back(&thread);
  std::stable_sort(threads.begin(), threads.end(), [](const TopThread* a, const TopThread* b) {
    return std::tie(a->cpu_fraction, a->gil_fraction) > std::tie(b->cpu_fraction, b->gil_fraction);
  });
  const size_t shown = std::min(threads.size(), rows - 1);
  const std::string more =
      shown < threads.size() ? fmt::format(" ({} of {})", shown, threads.size()) : "";
  std::string heading = "    CPU    GIL";
  if (size_.columns >= kForThreadDetails) heading += "  state        tid";
  const TextWidths widths = widths_beside(size_.columns, heading.size() + 2, kNowInPercent);
  heading += "  " + fit_left("thread" + more, widths.name);
  if (widths.place > 0) heading += "  " + fit_left("now in", widths.place);
  add(fit_left(heading, size_.columns), TopStyle::kHeading);
  for (size_t i = 0; i < shown; ++i) add_thread(*threads[i]);
}

void Drawing::add_thread(const TopThread& thread) {
  std::string line = fmt::format("{:>7}{:>7}", percent_text(thread.cpu_fraction),
                                 percent_text(thread.gil_fraction));
  if (size_.columns >= kForThreadDetails) {
    line += fmt::format("  {}{:>9}", thread.is_running ? "running" : "waiting",
                        thread.tid != 0 ? std::to_string(thread.tid) : "?");
  }
  const TextWidths widths = widths_beside(size_.columns, line.size() + 2, kNowInPercent);
  line += "  " + fit_left(thread.name.empty() ? "?" : thread.name, widths.name);
  if (widths.place > 0) {
    // The function first; of the place what has room.
    const std::string function = elide_middle(printable(thread.function), widths.place);
    const size_t used = display_width(function) + 1;
    constexpr size_t kShortestPlace = 8;
    line += "  " + function;
    if (!function.empty() && used + kShortestPlace <= widths.place) {
      line += " " + fit_place(thread.file, thread.line, widths.place - used);
    }
  }
  add(elide_middle(line, size_.columns), thread.is_running ? TopStyle::kPlain : TopStyle::kDim);
}

TopScreen Drawing::draw() {
  add_title();
  add_load();
  add_sampling();
  add_notes();
  add_processes();
  if (settings_.with_help) {
    add_help();
  } else {
    const size_t thread_rows = rows_for_threads();
    add_function_heading();
    if (is_endless()) {
      const size_t all = view_.functions.size();
      add_functions(settings_.max_functions > 0 ? std::min(settings_.max_functions, all + 1)
                                                : all + 1);
    } else {
      const size_t left = rows_left();
      add_functions(left > thread_rows ? left - thread_rows : 0);
      while (rows_left() > thread_rows) add("");
    }
    add_threads(thread_rows);
  }
  if (!is_endless()) {
    const size_t rows = size_.rows - (settings_.is_live ? 1 : 0);
    screen_.lines.resize(rows);
  }
  if (settings_.is_live) add(elide_middle(kKeys, size_.columns), TopStyle::kDim);
  return std::move(screen_);
}

}  // namespace

TopScreen draw_top(const TopView& view, const TopSettings& settings, TopSize size) {
  size.columns = std::max<size_t>(size.columns, 1);
  return Drawing(view, settings, size).draw();
}

}  // namespace stepscope::cli
