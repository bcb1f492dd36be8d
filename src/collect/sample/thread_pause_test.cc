#include "collect/sample/thread_pause.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/time.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "collect/sample/tracer_for_tests.h"

namespace stepscope::sample {
namespace {

std::string state_of(pid_t pid, pid_t tid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("State:\t")) return line.substr(7, 1);
  }
  return "";
}

std::string tracer_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("TracerPid:\t")) return line.substr(11);
  }
  return "";
}

void nap_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// What busy_main() counts. Lies in memory that the test shares with it.
struct Counts {
  std::atomic<uint64_t> alarms, queued_signals, short_threads, rounds;
  std::atomic<bool> should_end;
};
Counts* counts = nullptr;

// Four threads that compute, one that starts and ends others, a timer and signals. Exits with 0
// where all of it came out as it should.
int busy_main(int output) {
  std::signal(SIGALRM, [](int) { ++counts->alarms; });
  std::signal(SIGRTMIN, [](int) { ++counts->queued_signals; });
  const itimerval every_ms{{0, 1000}, {0, 1000}};
  ::setitimer(ITIMER_REAL, &every_ms, nullptr);
  std::array<uint64_t, 4> sums{};
  std::array<uint64_t, 4> rounds{};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < sums.size(); ++i) {
    threads.emplace_back([&, i] {
      while (!counts->should_end) {
        for (int k = 0; k < 1000; ++k) sums[i] += static_cast<uint64_t>(k) * k;
        ++rounds[i];
        ++counts->rounds;
      }
    });
  }
  threads.emplace_back([] {
    while (!counts->should_end) {
      std::thread([] { ++counts->short_threads; }).join();
    }
  });
  if (::write(output, "ready\n", 6) != 6) return 2;
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] != rounds[i] * 332833500) return 1;
  }
  return 0;
}

class ThreadPauseTest : public testing::Test {
 protected:
  void SetUp() override {
    void* memory =
        ::mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    counts = new (memory) Counts{};
  }
  void TearDown() override { ::munmap(counts, sizeof(Counts)); }
};

TEST_F(ThreadPauseTest, AThousandPausesOfABusyProgramChangeNothing) {
  ProgramForTests program(busy_main);
  ASSERT_EQ(program.read_line(), "ready");
  uint64_t sent = 0;
  uint64_t whole = 0;
  {
    ThreadPause pause(program.pid());
    for (int i = 0; i < 1000; ++i) {
      sent += ::sigqueue(program.pid(), SIGRTMIN, {}) == 0;
      const Status held = pause.pause();
      ASSERT_TRUE(held.ok()) << held.message();
      sent += ::sigqueue(program.pid(), SIGRTMIN, {}) == 0;
      whole += pause.is_whole();
      pause.resume();
    }
  }
  EXPECT_GT(whole, 500);  // a busy machine may keep threads from running until they stop
  nap_ms(20);
  EXPECT_EQ(tracer_of(program.pid()), "0");
  EXPECT_GT(counts->alarms, 0);
  EXPECT_GT(counts->short_threads, 0);
  counts->should_end = true;
  EXPECT_EQ(program.wait(), 0);
#ifdef STEPSCOPE_TSAN  // it delivers signals late, and several as one
  EXPECT_GT(counts->queued_signals, 0);
#else
  EXPECT_EQ(counts->queued_signals, sent);
#endif
}

TEST_F(ThreadPauseTest, AllThreadsStandStillBetweenPauseAndResume) {
  ProgramForTests program(busy_main);
  ASSERT_EQ(program.read_line(), "ready");
  ThreadPause pause(program.pid());
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(pause.pause().ok());
    if (!pause.is_whole()) continue;
    size_t tasks = 0;
    for (const auto& task :
         std::filesystem::directory_iterator("/proc/" + std::to_string(program.pid()) + "/task")) {
      ++tasks;
      EXPECT_EQ(state_of(program.pid(), std::stoi(task.path().filename())), "t");
    }
    EXPECT_EQ(tasks, pause.stopped().size());
    const uint64_t rounds = counts->rounds;
    nap_ms(3);
    EXPECT_EQ(counts->rounds, rounds);
    pause.resume();
    nap_ms(3);
  }
  counts->should_end = true;
  EXPECT_EQ(program.wait(), 0);
}

TEST_F(ThreadPauseTest, AStoppedProgramStaysStopped) {
  ProgramForTests program(busy_main);
  ASSERT_EQ(program.read_line(), "ready");
  ::kill(program.pid(), SIGSTOP);
  nap_ms(50);
  {
    ThreadPause pause(program.pid());
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(pause.pause().ok());
      pause.resume();
    }
  }
  nap_ms(20);
  EXPECT_EQ(state_of(program.pid(), program.pid()), "T");
  const uint64_t rounds = counts->rounds;
  nap_ms(20);
  EXPECT_EQ(counts->rounds, rounds);
  ::kill(program.pid(), SIGCONT);
  counts->should_end = true;
  EXPECT_EQ(program.wait(), 0);
}

TEST_F(ThreadPauseTest, ProgramsMayEndAtAnyMoment) {
  for (int i = 0; i < 60; ++i) {
    ProgramForTests program([i](int output) {
      for (int k = 0; k < 3; ++k) std::thread([] { nap_ms(1000); }).detach();
      if (::write(output, "ready\n", 6) != 6) return 2;
      ::usleep(static_cast<useconds_t>(i % 10 * 200));
      return 42;
    });
    ASSERT_EQ(program.read_line(), "ready");
    ThreadPause pause(program.pid());
    std::string why;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (why.empty() && std::chrono::steady_clock::now() < until) {
      why = pause.pause().message();
      pause.resume();
    }
    EXPECT_EQ(why, "process " + std::to_string(program.pid()) + ": it has ended");
    EXPECT_EQ(program.wait(), 42);
  }
}

// A thread that is not the first one runs exec while others are being stopped.
TEST_F(ThreadPauseTest, ProgramsMayRunOthersAtAnyMoment) {
  for (int i = 0; i < 60; ++i) {
    ProgramForTests program([i](int output) {
      for (int k = 0; k < 3; ++k) {
        std::thread([] {
          for (;;) ++counts->rounds;
        }).detach();
      }
      if (::write(output, "ready\n", 6) != 6) return 2;
      std::thread([i] {
        ::usleep(static_cast<useconds_t>(i % 10 * 200));
        ::execl("/bin/sh", "sh", "-c", "sleep 0.02; exit 7", nullptr);
      }).join();
      return 3;
    });
    ASSERT_EQ(program.read_line(), "ready");
    {
      ThreadPause pause(program.pid());
      for (int k = 0; k < 100 && pause.pause().ok(); ++k) pause.resume();
    }
    EXPECT_EQ(program.wait(), 7);
  }
}

TEST_F(ThreadPauseTest, ADyingTracerLetsTheProgramGoOn) {
  ProgramForTests program(busy_main);
  ASSERT_EQ(program.read_line(), "ready");
  {
    const auto tracer = hold(program.pid());
    ASSERT_EQ(tracer->read_line(), "held");
    EXPECT_EQ(state_of(program.pid(), program.pid()), "t");
  }
  const uint64_t rounds = counts->rounds;
  nap_ms(50);
  EXPECT_GT(counts->rounds, rounds);
  counts->should_end = true;
  EXPECT_EQ(program.wait(), 0);
}

TEST_F(ThreadPauseTest, AnotherTracerIsNamed) {
  ProgramForTests program(busy_main);
  ASSERT_EQ(program.read_line(), "ready");
  const auto tracer = hold(program.pid());
  ASSERT_EQ(tracer->read_line(), "held");
  ThreadPause pause(program.pid());
  EXPECT_EQ(pause.pause().message(), "process " + std::to_string(program.pid()) +
                                         ": already traced by process " +
                                         std::to_string(tracer->pid()) +
                                         "; only one debugger or profiler can stop it at a time");
  EXPECT_TRUE(pause.stopped().empty());
}

TEST_F(ThreadPauseTest, NoPermissionSaysWhatToDo) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root to give up its rights";
  ProgramForTests program(busy_main);
  ASSERT_EQ(program.read_line(), "ready");
  ProgramForTests other([&program](int output) {
    if (::setuid(65534) != 0) return 1;
    ThreadPause pause(program.pid());
    const std::string line = pause.pause().message() + "\n";
    return ::write(output, line.data(), line.size()) < 0 ? 1 : 0;
  });
  const std::string line = other.read_line();
  EXPECT_NE(line.find("no permission to stop its threads; run this as root"), line.npos) << line;
}

}  // namespace
}  // namespace stepscope::sample
