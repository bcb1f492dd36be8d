#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "analyze/utf8.h"
#include "cli/dump.h"

namespace stepscope::cli {
namespace {

DumpThread make_waiting(int32_t tid, const std::string& name) {
  DumpThread thread{.tid = tid, .name = name};
  thread.wait = {.state = ThreadWait::State::kWaiting, .call = "futex", .futex = 4096};
  thread.has_stood_still = true;
  thread.is_read = true;
  thread.frames = {{.name = "work", .file = "/home/me/job.py", .line = 7}};
  return thread;
}

DumpThread make_locked(int32_t tid, const std::string& name, int32_t holder) {
  DumpThread thread = make_waiting(tid, name);
  thread.awaited = {.kind = DumpAwaited::Kind::kLock, .name = "lock", .by_tid = holder};
  return thread;
}

TEST(DumpRemarks, RingsOfAnyLengthAreOneDeadlockAndThoseBehindThemAreNot) {
  ProcessDump dump;
  dump.threads = {make_locked(1, "outside", 2), make_locked(2, "a", 3), make_locked(3, "b", 4),
                  make_locked(4, "c", 2)};
  const auto remarks = find_remarks(dump);
  ASSERT_EQ(remarks.size(), 3u);
  EXPECT_EQ(remarks[0],
            "Deadlock: thread 2 (a) waits at job.py:7 work for the lock `lock`, which thread 3 (b) "
            "holds; thread 3 (b) waits at job.py:7 work for the lock `lock`, which thread 4 (c) "
            "holds; thread 4 (c) waits at job.py:7 work for the lock `lock`, which thread 2 (a) "
            "holds.");
  EXPECT_EQ(remarks[2],
            "Thread 1 (outside) waits at job.py:7 work for the lock `lock`, which thread 2 (a) "
            "holds, itself at job.py:7 work.");
}

TEST(DumpRemarks, NothingIsSaidOfThreadsThatHaveGoneOn) {
  ProcessDump dump;
  dump.threads = {make_locked(2, "a", 3), make_locked(3, "b", 2)};
  for (DumpThread& thread : dump.threads) thread.has_stood_still = false;
  EXPECT_TRUE(find_remarks(dump).empty());
}

TEST(DumpRemarks, ARingWithATimeoutIsNoDeadlock) {
  ProcessDump dump;
  dump.threads = {make_locked(2, "a", 3), make_locked(3, "b", 2)};
  dump.threads[1].wait.has_timeout = true;
  const auto remarks = find_remarks(dump);
  ASSERT_EQ(remarks.size(), 3u);
  for (const std::string& remark : remarks) EXPECT_FALSE(remark.starts_with("Deadlock")) << remark;
}

TEST(DumpRemarks, ATaskThatWaitsForSeveralIsNoRing) {
  ProcessDump dump;
  dump.tasks = {{.id = 1, .name = "one", .state = "waiting", .waits_for = {2, 3}},
                {.id = 2, .name = "two", .state = "waiting", .waits_for = {1}},
                {.id = 3, .name = "three", .state = "ready"}};
  EXPECT_TRUE(find_remarks(dump).empty());
}

TEST(DumpText, LinesFitTheTerminalWhateverTheNamesAre) {
  ProcessDump dump{.pid = 12, .python = "3.11", .command_line = std::string(200, 'x')};
  dump.threads = {make_locked(12, std::string(300, 'n') + "\x1b[31m", 13), make_waiting(13, "")};
  dump.threads[0].frames = {
      {.name = std::string(200, 'f'), .file = "/" + std::string(300, 'd'), .line = 1234567},
      {.name = "模块", .file = "/数据/" + std::string(100, 'e'), .line = 1}};
  dump.threads[0].frames[0].locals = {{.name = "a", .value = std::string(120, 'v')}};
  dump.tasks = {{.id = 1, .name = std::string(100, 't'), .state = "waiting", .waits_for = {1}}};
  dump.remarks = find_remarks(dump);
  for (const size_t columns : {20u, 40u, 80u, 120u}) {
    std::istringstream text(dump_text(dump, {.columns = columns}));
    for (std::string line; std::getline(text, line);) {
      EXPECT_LE(display_width(line), columns) << line;
      EXPECT_EQ(line.find('\x1b'), std::string::npos) << line;
    }
  }
}

TEST(DumpText, ColoursAreThereOnlyWhereTheyAreWanted) {
  ProcessDump dump{.pid = 12, .python = "3.11"};
  dump.threads = {make_waiting(12, "main")};
  EXPECT_EQ(dump_text(dump, {}).find('\x1b'), std::string::npos);
  EXPECT_NE(dump_text(dump, {.has_color = true}).find("\x1b[1mThread 12 main\x1b[0m"),
            std::string::npos);
}

TEST(DumpText, TasksOfARingAndSharedOnesAreShownOnce) {
  ProcessDump dump{.pid = 12, .python = "3.11"};
  dump.tasks = {{.id = 1, .name = "one", .state = "waiting", .waits_for = {3}},
                {.id = 2, .name = "two", .state = "waiting", .waits_for = {3}},
                {.id = 3, .name = "shared", .state = "waiting", .awaits = "_asyncio.Future"},
                {.id = 4, .name = "ring", .state = "waiting", .waits_for = {4}}};
  const std::string text = dump_text(dump, {});
  EXPECT_NE(text.find("one: waiting for a task\n    shared: waiting for _asyncio.Future\n"
                      "two: waiting for a task\n    shared: see above\n"
                      "ring: waiting for a task\n    ring: see above\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace stepscope::cli
