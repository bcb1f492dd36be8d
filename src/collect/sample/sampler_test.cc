#include "collect/sample/sampler.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "collect/sample/pythons_for_tests.h"
#include "collect/sample/tracer_for_tests.h"

namespace stepscope::sample {
namespace {

using Clock = std::chrono::steady_clock;

// Keeps all that it is told, and holds it to the rules of what comes first.
class Told : public SampleSink {
 public:
  struct Seen {
    std::string stack;  // "inner < outer"
    uint32_t process = 0;
    Sample sample;
  };

  void add_process(uint32_t process, pid_t pid, const std::string& command_line) override {
    EXPECT_EQ(process, pids.size());
    EXPECT_FALSE(command_line.empty());
    pids.push_back(pid);
  }
  void add_thread(uint32_t thread, uint32_t process, int32_t, const ThreadName& name) override {
    EXPECT_LE(thread, threads.size());
    EXPECT_LT(process, pids.size());
    if (thread == threads.size()) threads.emplace_back();
    threads[thread] = {process, name.text};
  }
  void add_function(uint32_t function, std::string_view name, std::string_view, int32_t) override {
    EXPECT_EQ(function, functions.size());
    functions.emplace_back(name);
  }
  void add_stack(uint32_t stack, uint32_t parent, uint32_t function, int32_t) override {
    EXPECT_EQ(stack, stacks.size());
    EXPECT_LT(function, functions.size());
    std::string text = functions[function];
    if (parent != kNoParent) {
      EXPECT_LT(parent, stacks.size());
      text += " < " + stacks[parent];
    }
    stacks.push_back(text);
  }
  void add_sample(const Sample& sample) override {
    ASSERT_LT(sample.thread, threads.size());
    ASSERT_LT(sample.stack, stacks.size());
    EXPECT_GT(sample.weight_ns, 0);
    EXPECT_LE(sample.cpu_ns, sample.weight_ns);
    EXPECT_GE(sample.count, 1);
    seen.push_back({stacks[sample.stack], threads[sample.thread].first, sample});
  }
  void end_process(uint32_t process) override { ended.insert(process); }

  bool has(const std::string& function, uint32_t process = 0) const {
    for (const Seen& one : seen) {
      if (one.process == process && one.stack.find(function) != std::string::npos) return true;
    }
    return false;
  }
  bool has_anywhere(const std::string& function) const {
    for (uint32_t i = 0; i < pids.size(); ++i) {
      if (has(function, i)) return true;
    }
    return false;
  }

  std::vector<pid_t> pids;
  std::vector<std::pair<uint32_t, std::string>> threads;  // process and name
  std::vector<std::string> functions, stacks;
  std::vector<Seen> seen;
  std::set<uint32_t> ended;
};

class SamplerTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    python_ = find_python(GetParam());
    if (python_.empty()) GTEST_SKIP() << "no Python 3." << GetParam();
  }

  // Until the condition holds; false after a time that no machine should need.
  static bool tick_until(Sampler& sampler, const std::function<bool()>& condition) {
    const auto deadline = Clock::now() + std::chrono::seconds(60);
    while (Clock::now() < deadline) {
      sampler.tick();
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
  }

  std::string python_;
  Told told_;
};

TEST_P(SamplerTest, ThreadsThatComputeAreToldFromThoseThatWait) {
  ProgramForTests program({python_, "-c", R"(
import threading, time
def wait(): time.sleep(600)
def spin():
    while True: pass
threading.Thread(target=wait, daemon=True, name='waiter').start()
print('ready', flush=True)
spin()
)"});
  ASSERT_EQ(program.read_line(), "ready");
  Sampler sampler({.period_ns = 2'000'000}, told_);
  ASSERT_TRUE(sampler.add(program.pid()).ok());
  ASSERT_TRUE(tick_until(sampler, [&] { return sampler.counts().ticks > 100; }));
  sampler.finish();
  uint64_t spinning = 0, waiting = 0;
  for (const Told::Seen& one : told_.seen) {
    if (one.stack.starts_with("spin")) ++spinning;
    if (!one.stack.starts_with("wait")) continue;
    if (one.sample.flags & kSampleWaited) waiting += one.sample.count;
  }
  EXPECT_GT(spinning, 50u);
  EXPECT_GT(waiting, 50u);
  EXPECT_EQ(told_.threads.size(), 2u);
  std::set<std::string> names;
  for (const ThreadState& state : sampler.threads()) names.insert(state.name);
  EXPECT_EQ(names, (std::set<std::string>{"MainThread", "waiter"}));
}

TEST_P(SamplerTest, WaitingThreadsAreFewSamplesWithTheirCount) {
  ProgramForTests program(
      {python_, "-c", "import time; print('ready', flush=True); time.sleep(600)"});
  ASSERT_EQ(program.read_line(), "ready");
  for (const bool pause : {false, true}) {
    Told told;
    Sampler sampler({.period_ns = 1'000'000, .pause = pause}, told);
    ASSERT_TRUE(sampler.add(program.pid()).ok());
    ASSERT_TRUE(tick_until(sampler, [&] { return sampler.counts().ticks >= 200; }));
    sampler.finish();
    uint64_t looks = 0;
    for (const Told::Seen& one : told.seen) looks += one.sample.count;
    EXPECT_EQ(looks, sampler.counts().samples);
    EXPECT_EQ(looks + sampler.counts().torn, 200u) << "pause " << pause;
    EXPECT_LT(told.seen.size(), 100u) << "pause " << pause;
  }
}

TEST_P(SamplerTest, ChildrenJoinAndLeave) {
  ProgramForTests program({python_, "-c", R"(
import ctypes, subprocess, sys, time
def parent_waits():
    while True:
        child = subprocess.Popen([sys.executable, '-c', '''
import ctypes, time
ctypes.CDLL(None).prctl(1, 9)
def child_works():
    end = time.time() + 0.5
    while time.time() < end: pass
child_works()
'''])
        child.wait()
print('ready', flush=True)
parent_waits()
)"});
  ASSERT_EQ(program.read_line(), "ready");
  Sampler sampler({.period_ns = 2'000'000, .with_children = true}, told_);
  ASSERT_TRUE(sampler.add(program.pid()).ok());
  EXPECT_TRUE(tick_until(sampler, [&] {
    size_t with_work = 0;
    for (uint32_t i = 1; i < told_.pids.size(); ++i) {
      with_work += told_.has("child_works", i) && told_.ended.contains(i);
    }
    return with_work >= 2;
  }));
  EXPECT_FALSE(told_.ended.contains(0));
}

TEST_P(SamplerTest, ForkedChildrenJoin) {
  // The child ends by itself when its parent is killed.
  ProgramForTests program({python_, "-c", R"(
import os, time
def in_parent(): time.sleep(600)
def in_child():
    while os.getppid() == parent: time.sleep(0.05)
parent = os.getpid()
print('ready', flush=True)
in_child() if os.fork() == 0 else in_parent()
)"});
  ASSERT_EQ(program.read_line(), "ready");
  Sampler sampler({.period_ns = 2'000'000, .with_children = true}, told_);
  ASSERT_TRUE(sampler.add(program.pid()).ok());
  EXPECT_TRUE(tick_until(sampler, [&] {
    sampler.finish();
    return told_.has("in_parent", 0) && told_.has("in_child", 1);
  }));
}

TEST_P(SamplerTest, AProgramThatEndsIsLeft) {
  ProgramForTests program({python_, "-c", R"(
import time
print('ready', flush=True)
def work():
    end = time.time() + 0.2
    while time.time() < end: pass
work()
)"});
  ASSERT_EQ(program.read_line(), "ready");
  Sampler sampler({.period_ns = 2'000'000}, told_);
  ASSERT_TRUE(sampler.add(program.pid()).ok());
  sampler.run(0, [] { return false; });  // it ends by itself
  EXPECT_FALSE(sampler.has_targets());
  EXPECT_TRUE(told_.has("work"));
  EXPECT_TRUE(told_.ended.contains(0));
  EXPECT_EQ(program.wait(), 0);
}

TEST_P(SamplerTest, AProgramThatBecomesAnotherIsFollowed) {
  for (const bool pause : {false, true}) {
    ProgramForTests program({python_, "-c", R"(
import os, sys, threading, time
def before():
    end = time.time() + 0.2
    while time.time() < end: pass
print('ready', flush=True)
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
before()
os.execv(sys.executable, [sys.executable, '-c', 'import time\ndef after(): time.sleep(600)\nafter()'])
)"});
    ASSERT_EQ(program.read_line(), "ready");
    Told told;
    Sampler sampler({.period_ns = 2'000'000, .pause = pause}, told);
    ASSERT_TRUE(sampler.add(program.pid()).ok());
    EXPECT_TRUE(tick_until(sampler,
                           [&] {
                             sampler.finish();
                             return told.has_anywhere("before") && told.has_anywhere("after");
                           }))
        << "pause " << pause;
  }
}

// Stopped at each look it goes on as before, and no stack is of two moments.
TEST_P(SamplerTest, APausedLookGivesTrueStacks) {
  ProgramForTests program({python_, "-c", R"(
import signal
def leaf_a(): return 1
def leaf_b(): return 2
def left(n): return leaf_a() + (left(n - 1) if n else 0)
def right(n): return leaf_b() + (right(n - 1) if n else 0)
asked = []
signal.signal(signal.SIGUSR1, lambda *_: asked.append(1))
print('ready', flush=True)
while not asked: left(9); right(7)
print('done', flush=True)
)"});
  ASSERT_EQ(program.read_line(), "ready");
  Sampler sampler({.period_ns = 1'000'000, .pause = true}, told_);
  ASSERT_TRUE(sampler.add(program.pid()).ok());
  ASSERT_TRUE(tick_until(sampler, [&] { return sampler.counts().ticks > 300; }));
  sampler.finish();
  const std::set<std::string> legal = {"leaf_a < left",  "left < left",   "left < <module>",
                                       "leaf_b < right", "right < right", "right < <module>"};
  for (const Told::Seen& one : told_.seen) {
    for (size_t at = 0, next; (next = one.stack.find(" < ", at)) != std::string::npos;
         at = next + 3) {
      const size_t end = one.stack.find(" < ", next + 3);
      EXPECT_TRUE(legal.contains(one.stack.substr(at, std::min(end, one.stack.size()) - at)))
          << one.stack;
    }
  }
  EXPECT_GT(told_.seen.size(), 200u);
  ::kill(program.pid(), SIGUSR1);
  EXPECT_EQ(program.read_line(), "done");
  EXPECT_EQ(program.wait(), 0);
}

INSTANTIATE_TEST_SUITE_P(Python3, SamplerTest, testing::Values(11, 12, 13));

TEST(SamplerFaults, WhatCanNotBeStoppedSaysWhatToDo) {
  const std::string python = find_python(11);
  if (python.empty()) GTEST_SKIP() << "no Python 3.11";
  ProgramForTests program(
      {python, "-c", "import time; print('ready', flush=True); time.sleep(600)"});
  ASSERT_EQ(program.read_line(), "ready");
  const auto tracer = hold(program.pid());
  ASSERT_EQ(tracer->read_line(), "held");
  Told told;
  Sampler sampler({.pause = true}, told);
  const std::string fault = sampler.add(program.pid()).message();
  EXPECT_NE(fault.find("already traced by process"), fault.npos) << fault;
  EXPECT_TRUE(told.pids.empty());
}

TEST(SamplerFaults, NativeFramesNeedAnUnwinderAndAnotherProcess) {
  Told told;
  Sampler native({.native = true}, told);
  EXPECT_EQ(native.add(::getpid()).message(), "native frames are not part of this program");
  Sampler inside({.pause = true, .is_inside = true}, told);
  EXPECT_EQ(inside.add(::getpid()).message(),
            "a program can not stop itself; sample it from outside");
}

}  // namespace
}  // namespace stepscope::sample
