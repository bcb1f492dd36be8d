#include "collect/sample/async_tasks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "collect/sample/code_table.h"
#include "collect/sample/live_python_for_tests.h"

namespace stepscope::sample {
namespace {

class AsyncTasksTest : public LivePythonTest {
 protected:
  void start(const std::string& script) {
    LivePythonTest::start("import asyncio, sys, threading, time" + script);
  }

  void read() {
    tasks_.clear();
    for (AsyncTask& task : read_async_tasks(*objects_)) tasks_[task.name] = std::move(task);
  }

  // "inner:12 < outer:15", without the parts of asyncio.
  std::string chain_of(const std::string& name) {
    CodeTable codes(*process_);
    std::vector<uint64_t> addresses;
    for (const StackFrame& frame : tasks_[name].frames) addresses.push_back(frame.code);
    codes.check(addresses);
    std::string text;
    for (const StackFrame& frame : tasks_[name].frames) {
      const Code* code = codes.find(frame.code);
      if (code == nullptr) return "no code";
      if (code->file != "<string>") continue;
      if (!text.empty()) text += " < ";
      text += code->name + ":" + std::to_string(code->line(frame.instruction));
    }
    return text;
  }

  std::set<std::string> waited_for(const std::string& name) {
    std::set<std::string> names;
    for (const uint64_t other : tasks_[name].waits_for) {
      for (const auto& [other_name, task] : tasks_) {
        if (task.address == other) names.insert(other_name);
      }
    }
    return names;
  }

  std::map<std::string, AsyncTask> tasks_;
};

using Names = std::set<std::string>;

constexpr char kWaits[] = R"(
def named(coroutine, name):
    task = asyncio.ensure_future(coroutine); task.set_name(name); return task
async def leaf():
    await asyncio.sleep(600)
async def middle():
    await leaf()
async def produce():
    yield 1
    await leaf()
    yield 2
async def consume():
    async for item in produce():
        last = item
class Manual:
    def __await__(self):
        yield from leaf().__await__()
async def by_hand():
    await Manual()
async def on_task(task):
    await task
async def on_gather(*tasks):
    await asyncio.gather(*tasks)
async def on_wait(*tasks):
    await asyncio.wait(tasks)
async def on_wait_for(task):
    await asyncio.wait_for(task, 500)
async def on_shield(task):
    await asyncio.shield(task)
async def on_future():
    await asyncio.get_running_loop().create_future()
async def on_queue():
    await asyncio.Queue().get()
async def main():
    a = named(middle(), 'a'); b = named(consume(), 'b'); c = named(by_hand(), 'c')
    tasks = [a, b, c, named(on_task(a), 'task'), named(on_gather(a, b), 'gather'),
             named(on_wait(b, c), 'wait'), named(on_wait_for(a), 'wait_for'),
             named(on_shield(c), 'shield'), named(on_future(), 'future'),
             named(on_queue(), 'queue')]
    asyncio.current_task().set_name('main')
    await asyncio.sleep(0.05)
    print(threading.get_ident(), flush=True)
    await asyncio.gather(*tasks)
asyncio.run(main())
)";

TEST_P(AsyncTasksTest, ChainsOfAwaitsGoDownToTheInnermostFrame) {
  start(kWaits);
  // What is printed comes just before the last await.
  for (int tries = 0; tries < 3000; ++tries) {
    read();
    if (tasks_["main"].state == AsyncTask::State::kWaiting && chain_of("main") == "main:43") break;
    ::usleep(10'000);
  }
  ASSERT_EQ(tasks_.size(), 11u);
  EXPECT_EQ(chain_of("a"), "leaf:5 < middle:7");
  EXPECT_EQ(chain_of("b"), "leaf:5 < produce:10 < consume:13");
  const bool has_qualified_names = GetParam() >= 11;
  EXPECT_EQ(chain_of("c"), has_qualified_names ? "leaf:5 < Manual.__await__:17 < by_hand:19"
                                               : "leaf:5 < __await__:17 < by_hand:19");
  EXPECT_EQ(chain_of("queue"), "on_queue:33");
  EXPECT_EQ(chain_of("main"), "main:43");
  for (const auto& [name, task] : tasks_) {
    EXPECT_EQ(task.state, AsyncTask::State::kWaiting) << name;
    EXPECT_EQ(std::to_string(task.pthread), first_line_) << name;
  }
}

TEST_P(AsyncTasksTest, TasksTellForWhichTasksTheyWait) {
  start(kWaits);
  for (int tries = 0; tries < 3000; ++tries) {
    read();
    if (tasks_["main"].state == AsyncTask::State::kWaiting && chain_of("main") == "main:43") break;
    ::usleep(10'000);
  }
  EXPECT_EQ(waited_for("a"), Names{});
  EXPECT_EQ(tasks_["a"].awaits, "_asyncio.Future");
  EXPECT_EQ(waited_for("task"), Names{"a"});
  EXPECT_EQ(waited_for("gather"), (Names{"a", "b"}));
  EXPECT_EQ(tasks_["gather"].awaits, "asyncio.tasks._GatheringFuture");
  EXPECT_EQ(waited_for("wait"), (Names{"b", "c"}));
  EXPECT_EQ(waited_for("wait_for"), Names{"a"});
  EXPECT_EQ(waited_for("shield"), Names{"c"});
  EXPECT_EQ(waited_for("future"), Names{});
  EXPECT_EQ(waited_for("main").size(), 10u);
}

TEST_P(AsyncTasksTest, TaskGroupsWaitForTheirTasks) {
  if (GetParam() < 11) GTEST_SKIP() << "no task groups before 3.11";
  start(R"(
async def leaf():
    await asyncio.sleep(600)
async def main():
    asyncio.current_task().set_name('main')
    async with asyncio.TaskGroup() as group:
        group.create_task(leaf(), name='one')
        group.create_task(leaf(), name='two')
        await asyncio.sleep(0.01)
        print('ready', flush=True)
asyncio.run(main())
)");
  for (int tries = 0; tries < 3000 && waited_for("main").empty(); ++tries) {
    ::usleep(10'000);
    read();
  }
  EXPECT_EQ(waited_for("main"), (Names{"one", "two"}));
  EXPECT_EQ(chain_of("main"), "main:6");
}

TEST_P(AsyncTasksTest, ARunningTaskIsToldFromThoseThatAreReady) {
  start(R"(
async def later():
    pass
async def main():
    task = asyncio.ensure_future(later()); task.set_name('later')
    asyncio.current_task().set_name('main')
    done = asyncio.ensure_future(later()); done.set_name('done')
    await done
    task = asyncio.ensure_future(later()); task.set_name('later')
    print(threading.get_ident(), flush=True)
    time.sleep(600)
asyncio.run(main())
)");
  read();
  ASSERT_EQ(tasks_.size(), 2u);
  EXPECT_EQ(tasks_["main"].state, AsyncTask::State::kRunning);
  EXPECT_TRUE(tasks_["main"].frames.empty());
  EXPECT_EQ(tasks_["later"].state, AsyncTask::State::kReady);
  ASSERT_EQ(tasks_["later"].frames.size(), 1u);
  EXPECT_EQ(tasks_["later"].frames[0].instruction, -1);
  EXPECT_EQ(std::to_string(tasks_["main"].pthread), first_line_);
}

TEST_P(AsyncTasksTest, EagerTasksAreFoundBeforeAndAfterTheirFirstWait) {
  if (GetParam() < 12) GTEST_SKIP() << "no eager tasks before 3.12";
  start(R"(
async def quick(name):
    asyncio.current_task().set_name(name)
    if name == 'now':
        print('ready', flush=True)
        time.sleep(600)
    await asyncio.sleep(600)
async def main():
    asyncio.current_task().set_name('main')
    loop = asyncio.get_running_loop()
    loop.set_task_factory(asyncio.eager_task_factory)
    waiting = loop.create_task(quick('waiting'), name='waiting')
    loop.create_task(quick('now'))
asyncio.run(main())
)");
  read();
  ASSERT_EQ(tasks_.size(), 3u);
  EXPECT_EQ(tasks_["now"].state, AsyncTask::State::kRunning);
  EXPECT_EQ(tasks_["waiting"].state, AsyncTask::State::kWaiting);
  EXPECT_EQ(chain_of("waiting"), "quick:7");
}

TEST_P(AsyncTasksTest, UnnamedTasksTasksInPythonAndDerivedOnesAreRead) {
  start(R"(
class Own(asyncio.Task): pass
async def leaf():
    await asyncio.sleep(600)
async def main():
    loop = asyncio.get_running_loop()
    asyncio.current_task().set_name('main')
    one = Own(leaf(), loop=loop, name='own')
    two = asyncio.tasks._PyTask(leaf(), loop=loop, name='python')
    three = loop.create_task(leaf())
    await asyncio.sleep(0.01)
    print('ready', flush=True)
    time.sleep(1000)
asyncio.run(main())
)");
  read();
  ASSERT_EQ(tasks_.size(), 4u);
  EXPECT_EQ(chain_of("own"), "leaf:4");
  EXPECT_EQ(chain_of("python"), "leaf:4");
  EXPECT_EQ(tasks_["python"].state, AsyncTask::State::kWaiting);
  EXPECT_TRUE(std::any_of(tasks_.begin(), tasks_.end(),
                          [](const auto& task) { return task.first.starts_with("Task-"); }));
}

TEST_P(AsyncTasksTest, TasksThatComeAndGoDoNoHarm) {
  start(R"(
async def leaf(n):
    await asyncio.sleep(0 if n % 3 else 0.001)
    if n % 5 == 0: await asyncio.gather(leaf(1), leaf(2))
async def main():
    print('ready', flush=True)
    while True:
        await asyncio.gather(*[leaf(i) for i in range(50)])
asyncio.run(main())
)");
  size_t seen = 0, frames = 0;
  for (int i = 0; i < 20'000 && (seen < 5000 || frames < 5000); ++i) {
    for (const AsyncTask& task : read_async_tasks(*objects_)) {
      ++seen;
      frames += task.frames.size();
      ASSERT_LE(task.frames.size(), 1000u);
    }
  }
  EXPECT_GT(seen, 1000u);
  EXPECT_GT(frames, 1000u);
}

TEST_P(AsyncTasksTest, AProgramWithoutAsyncioHasNone) {
  program_ = std::make_unique<ProgramForTests>(std::vector<std::string>{
      python_, "-c", "import time; print('ready', flush=True); time.sleep(600)"});
  ASSERT_EQ(program_->read_line(), "ready");
  auto process = PythonProcess::find(program_->pid());
  ASSERT_TRUE(process.ok()) << process.status().message();
  RemoteObjects objects(*process);
  EXPECT_TRUE(read_async_tasks(objects).empty());
}

INSTANTIATE_TEST_SUITE_P(Python3, AsyncTasksTest, testing::Range(8, 14));

}  // namespace
}  // namespace stepscope::sample
