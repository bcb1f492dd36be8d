#include "cli/top_screen.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "analyze/utf8.h"

namespace stepscope::cli {
namespace {

constexpr int64_t kMs = 1'000'000;

TopTimes times(int64_t cpu_ms, int64_t wall_ms, int64_t gil_ms) {
  return {{cpu_ms * kMs, wall_ms * kMs, gil_ms * kMs}};
}

TopFunction function(const std::string& name, const std::string& file, int64_t own_ms,
                     int64_t total_ms) {
  const TopCost cost{times(own_ms, own_ms, own_ms / 2), times(total_ms, total_ms, total_ms / 2)};
  return {.name = name, .file = file, .first_line = 7, .now = cost, .since_start = cost};
}

// A second of a process with two threads; wait() is seen only in wall time.
TopView make_view() {
  TopView view;
  view.processes.push_back({.pid = 4711,
                            .command_line = "python train.py --epochs 3",
                            .python = "3.11",
                            .cpu_fraction = 1.431,
                            .gil_fraction = 0.61,
                            .threads = 2,
                            .running = 1});
  view.threads.push_back({.pid = 4711,
                          .tid = 4711,
                          .name = "MainThread",
                          .is_running = true,
                          .cpu_fraction = 0.9,
                          .gil_fraction = 0.61,
                          .function = "forward",
                          .file = "/src/model.py",
                          .line = 21});
  view.threads.push_back({.pid = 4711, .tid = 4715, .name = "loader", .function = "wait"});
  view.functions = {function("step", "/src/train.py", 100, 1000),
                    function("forward", "/src/model.py", 600, 700),
                    function("loss", "/src/model.py", 300, 300)};
  TopFunction wait = function("wait", "/lib/threading.py", 0, 0);
  wait.now.own = wait.now.total = wait.since_start.own = wait.since_start.total = times(0, 1000, 0);
  view.functions.push_back(wait);
  view.now = {times(1000, 2000, 500), {100, 200, 50}, 1000 * kMs};
  view.since_start = {times(4000, 8000, 2000), {400, 800, 200}, 4000 * kMs};
  view.period_ns = 10 * kMs;
  view.missed_ticks = 3;
  return view;
}

TopSettings live() {
  TopSettings settings;
  settings.is_live = true;
  return settings;
}

std::string text_of(const TopScreen& screen) {
  std::string text;
  for (const TopLine& line : screen.lines) text += line.text + "\n";
  return text;
}

size_t row_of(const TopScreen& screen, const std::string& part) {
  for (size_t row = 0; row < screen.lines.size(); ++row) {
    if (screen.lines[row].text.find(part) != std::string::npos) return row;
  }
  return SIZE_MAX;
}

bool fits(const TopScreen& screen, TopSize size) {
  return screen.lines.size() <= size.rows &&
         std::all_of(screen.lines.begin(), screen.lines.end(),
                     [&](const TopLine& line) { return display_width(line.text) <= size.columns; });
}

TEST(TopScreen, TellsTheProcessItsLoadAndHowItWasSampled) {
  const TopScreen screen = draw_top(make_view(), live(), {80, 24});
  ASSERT_EQ(screen.lines.size(), 24u);
  EXPECT_EQ(screen.lines[0].text,
            "stepscope top   4711  python train.py --epochs 3                     Python 3.11");
  EXPECT_EQ(screen.lines[1].text, "CPU 143.1%   GIL held 61.0%   threads 2: 1 running, 1 waiting");
  EXPECT_EQ(screen.lines[2].text,
            "100 Hz   4.0 s   800 samples   3 ticks missed   ±9.6 now, ±4.9 since start");
  EXPECT_EQ(screen.lines[23].text.substr(0, 6), "q quit");
}

TEST(TopScreen, FunctionsHaveSharesOfCpuTimeNowAndSinceTheStart) {
  const TopScreen screen = draw_top(make_view(), live(), {80, 24});
  const size_t row = row_of(screen, "*own");
  ASSERT_NE(row, SIZE_MAX);
  EXPECT_EQ(screen.lines[row - 1].text.substr(0, 48),
            "   now (1.0 s)   since start  shares of CPU time");
  EXPECT_EQ(screen.lines[row + 1].text.substr(0, 37), "  60.0%  70.0%  15.0%  17.5%  forward");
  EXPECT_TRUE(screen.lines[row + 1].text.ends_with("/src/model.py:7"));
  EXPECT_EQ(screen.lines[row + 1].style, TopStyle::kHot);
  EXPECT_EQ(screen.lines[row + 3].style, TopStyle::kPlain);
}

TEST(TopScreen, AWaitingFunctionIsThereOnlyWhereWaitingCounts) {
  TopSettings settings = live();
  settings.with_threads = false;
  EXPECT_EQ(row_of(draw_top(make_view(), settings, {80, 24}), "wait "), SIZE_MAX);
  settings.weight = TopWeight::kWall;
  const TopScreen screen = draw_top(make_view(), settings, {80, 24});
  EXPECT_EQ(screen.lines[row_of(screen, "wait ")].text.substr(0, 14), "  50.0%  50.0%");
  EXPECT_NE(row_of(screen, "shares of all threads' time, waiting too"), SIZE_MAX);
}

TEST(TopScreen, SharesOfTheLockAreOfTheTimeInWhichItIsHeld) {
  TopSettings settings = live();
  settings.weight = TopWeight::kGil;
  const TopScreen screen = draw_top(make_view(), settings, {80, 24});
  EXPECT_EQ(screen.lines[row_of(screen, "forward")].text.substr(0, 14), "  60.0%  70.0%");
  EXPECT_NE(row_of(screen, "shares of the time with the GIL"), SIZE_MAX);
}

TEST(TopScreen, TheOrderHasAStarAndIsFollowed) {
  TopSettings settings = live();
  settings.with_threads = false;
  for (const auto& [sort, first, heading] :
       {std::tuple(TopSort::kOwnNow, "forward", "   *own  total    own  total"),
        std::tuple(TopSort::kTotalNow, "step", "    own *total    own  total"),
        std::tuple(TopSort::kOwnSinceStart, "forward", "    own  total   *own  total"),
        std::tuple(TopSort::kTotalSinceStart, "step", "    own  total    own *total")}) {
    settings.sort = sort;
    const TopScreen screen = draw_top(make_view(), settings, {80, 24});
    const size_t row = row_of(screen, heading);
    ASSERT_NE(row, SIZE_MAX) << heading;
    EXPECT_NE(screen.lines[row + 1].text.find(first), std::string::npos) << heading;
  }
}

TEST(TopScreen, ThreadsAreInTheLowerThirdWithWhatTheyDo) {
  const TopScreen screen = draw_top(make_view(), live(), {80, 24});
  EXPECT_EQ(row_of(screen, "now in"), 20u);
  EXPECT_EQ(screen.lines[21].text.substr(0, 44), "  90.0%  61.0%  running     4711  MainThread");
  EXPECT_TRUE(screen.lines[21].text.ends_with("  forward /src/model.py:21"));
  EXPECT_EQ(screen.lines[22].style, TopStyle::kDim);
  TopSettings settings = live();
  settings.with_threads = false;
  EXPECT_EQ(row_of(draw_top(make_view(), settings, {80, 24}), "MainThread"), SIZE_MAX);
}

TEST(TopScreen, ManyThreadsSayHowManyAreShown) {
  TopView view = make_view();
  for (int i = 0; i < 150; ++i) view.threads.push_back({.tid = 5000 + i, .name = "pool"});
  EXPECT_NE(row_of(draw_top(view, live(), {80, 24}), "(5 of 152)"), SIZE_MAX);
}

TEST(TopScreen, SeveralProcessesAreListedByTheirLoad) {
  TopView view = make_view();
  view.processes.push_back(
      {.pid = 4720, .command_line = "python worker.py", .python = "3.12", .cpu_fraction = 1.9});
  view.ended_processes = 4;
  const TopScreen screen = draw_top(view, live(), {80, 24});
  EXPECT_NE(screen.lines[0].text.find("2 processes: 4711 4720"), std::string::npos);
  EXPECT_TRUE(screen.lines[0].text.ends_with("Python 3.11, 3.12"));
  EXPECT_NE(screen.lines[1].text.find("4 ended"), std::string::npos);
  EXPECT_LT(row_of(screen, "python worker.py"), row_of(screen, "python train.py"));
}

TEST(TopScreen, EverythingFitsWhateverTheSize) {
  TopView view = make_view();
  view.functions.push_back(function("Model.<locals>." + std::string(300, 'x'),
                                    "/" + std::string(300, 'y') + "/z.py", 900, 900));
  view.functions.push_back(function("データを読み込む関数", "/src/データ/読み込み.py", 800, 800));
  view.functions.push_back(function("bad\xff\x1b[31m\nname", "/a\tb.py", 700, 700));
  view.threads.push_back({.tid = 1, .name = std::string(200, 'n'), .function = "データ"});
  view.notes = {"process 99: no such process, and much more to say about it than has room in 80"};
  for (const size_t processes : {size_t{1}, size_t{30}}) {
    view.processes.resize(processes, view.processes[0]);
    for (const TopSize size : {TopSize{80, 24}, TopSize{120, 40}, TopSize{40, 10}, TopSize{20, 5},
                               TopSize{1, 1}, TopSize{79, 15}, TopSize{300, 100}}) {
      for (const bool has_help : {false, true}) {
        for (const bool is_utf8 : {false, true}) {
          TopSettings settings = live();
          settings.with_help = has_help;
          settings.is_utf8 = is_utf8;
          const TopScreen screen = draw_top(view, settings, size);
          EXPECT_TRUE(fits(screen, size)) << size.columns << "x" << size.rows << "\n"
                                          << text_of(screen);
          EXPECT_EQ(screen.lines.size(), size.rows);
          for (const char c : text_of(screen)) {
            ASSERT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
            ASSERT_TRUE(is_utf8 || static_cast<unsigned char>(c) < 0x7f);
          }
        }
      }
    }
  }
}

TEST(TopScreen, ASmallTerminalStillHasFunctions) {
  const TopScreen screen = draw_top(make_view(), live(), {40, 10});
  EXPECT_NE(screen.lines[0].text.find("4711"), std::string::npos);
  const size_t row = row_of(screen, "forward");
  ASSERT_NE(row, SIZE_MAX);
  EXPECT_EQ(screen.lines[row].text.substr(0, 23), "  60.0%  70.0%  forward");
  TopSettings settings = live();
  settings.sort = TopSort::kOwnSinceStart;
  const TopScreen since_start = draw_top(make_view(), settings, {40, 10});
  EXPECT_EQ(since_start.lines[row_of(since_start, "forward")].text.substr(0, 14), "  15.0%  17.5%");
}

TEST(TopScreen, ScrollingEndsAtTheLastFunction) {
  TopView view = make_view();
  for (int i = 0; i < 50; ++i) {
    view.functions.push_back(function("f" + std::to_string(i), "/f.py", 0, 1));
  }
  TopSettings settings = live();
  settings.with_threads = false;
  const TopScreen first = draw_top(view, settings, {80, 24});
  EXPECT_EQ(first.page_rows, 18u);
  settings.scroll = 5;
  EXPECT_EQ(draw_top(view, settings, {80, 24}).scroll, 5u);
  settings.scroll = size_t{1} << 40;
  const TopScreen last = draw_top(view, settings, {80, 24});
  EXPECT_EQ(last.scroll, 53u - 18u);
  EXPECT_EQ(row_of(last, "forward"), SIZE_MAX);
}

TEST(TopScreen, SaysWhyThereIsNoFunction) {
  TopView view = make_view();
  view.functions.clear();
  EXPECT_NE(row_of(draw_top(view, live(), {80, 24}), "all threads wait (i counts that"), SIZE_MAX);
  TopSettings settings = live();
  settings.weight = TopWeight::kGil;
  EXPECT_NE(row_of(draw_top(view, settings, {80, 24}), "nobody holds the GIL"), SIZE_MAX);
  view.now = {};
  EXPECT_NE(row_of(draw_top(view, live(), {80, 24}), "no sample yet"), SIZE_MAX);
}

TEST(TopScreen, PauseAndEndAreSaidInTheTitle) {
  TopSettings settings = live();
  settings.is_paused = true;
  EXPECT_TRUE(draw_top(make_view(), settings, {80, 24}).lines[0].text.ends_with("PAUSED"));
  TopView view = make_view();
  view.processes[0].has_ended = true;
  EXPECT_TRUE(draw_top(view, live(), {80, 24}).lines[0].text.ends_with("has ended"));
}

TEST(TopScreen, ASnapshotHasNoKeysAndAsManyFunctionsAsAskedFor) {
  TopView view = make_view();
  view.functions.push_back(function("before", "/src/train.py", 0, 0));
  view.functions.back().since_start.total = times(5, 5, 5);
  TopSettings settings;
  settings.max_functions = 2;
  const TopScreen screen = draw_top(view, settings, {80, 0});
  EXPECT_EQ(row_of(screen, "q quit"), SIZE_MAX);
  EXPECT_NE(row_of(screen, "  and 1 more (--limit 0 for all)"), SIZE_MAX);
  settings.max_functions = 0;
  const TopScreen all = draw_top(view, settings, {80, 0});
  EXPECT_NE(row_of(all, "step"), SIZE_MAX);
  EXPECT_EQ(row_of(all, "before"), SIZE_MAX);
}

TEST(TopScreen, AnEmptyViewIsDrawnToo) {
  EXPECT_EQ(draw_top({}, live(), {80, 24}).lines.size(), 24u);
  EXPECT_FALSE(draw_top({}, {}, {80, 0}).lines.empty());
}

}  // namespace
}  // namespace stepscope::cli
