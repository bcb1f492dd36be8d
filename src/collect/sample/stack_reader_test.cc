#include "collect/sample/stack_reader.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "collect/sample/code_table.h"
#include "collect/sample/pythons_for_tests.h"

namespace stepscope::sample {
namespace {

// Threads that stand in hold(), each by another way. What Python itself says of their stacks is
// printed: "name ident innermost:line < … < outermost:line".
constexpr char kStandingThreads[] = R"(
import asyncio, sys, threading, time
def hold():
    time.sleep(600)
def plain():
    inner = lambda: hold()
    inner()
def deep(n):
    if n:
        return deep(n - 1)
    hold()
def generate(n):
    if n:
        yield from generate(n - 1)
    hold()
    yield 1
def by_generators():
    for item in generate(5): pass
def by_expression():
    return sum(x for x in (hold() for i in range(1)))
async def leaf():
    hold()
async def awaits():
    await leaf()
async def stream():
    await leaf()
    yield 1
async def iterates():
    async for item in stream(): pass
class Model:
    def __call__(self): self.forward()
    def forward(self):
        class Local:
            hold()
def by_c():
    list(map(lambda i: hold(), [1]))
def by_sort():
    sorted([2, 1], key=lambda i: hold())
def with_many_locals():
    exec('def wide():\n' + ''.join(' a%d = %d\n' % (i, i) for i in range(300)) + ' hold()', globals())
    wide()
sys.setrecursionlimit(20_000)
threading.stack_size(256 << 20)
targets = {
    'plain': plain, 'deep500': lambda: deep(500), 'deep5000': lambda: deep(5000),
    'generators': by_generators, 'expression': by_expression,
    'coroutine': lambda: asyncio.run(awaits()), 'stream': lambda: asyncio.run(iterates()),
    'model': Model(), 'by_c': by_c, 'by_sort': by_sort, 'wide': with_many_locals,
}
threads = [threading.Thread(target=t, name=n, daemon=True) for n, t in targets.items()]
for t in threads: t.start()
def stack_of(frame):
    while frame:
        yield '%s:%d' % (getattr(frame.f_code, 'co_qualname', frame.f_code.co_name), frame.f_lineno)
        frame = frame.f_back
def tops():
    frames = sys._current_frames()
    return [frames[t.ident].f_code for t in threads]
while set(tops()) != {hold.__code__}: time.sleep(0.01)
for t in threads:
    print(t.name, t.ident, ' < '.join(stack_of(sys._current_frames()[t.ident])))
def main():
    print('main', threading.get_ident(), flush=True); time.sleep(600)
main()
)";

struct Truth {
  uint64_t pthread = 0;
  std::string stack;
};

// A program, and what reads it. Started once for all tests of a version.
class Target {
 public:
  Target(const std::string& python, const std::string& script) : program_({python, "-c", script}) {}

  std::string read_line() { return program_.read_line(); }
  bool open() {
    auto process = PythonProcess::find(program_.pid());
    if (!process) return false;
    process_ = std::make_unique<PythonProcess>(*std::move(process));
    codes_ = std::make_unique<CodeTable>(*process_);
    reader_ = std::make_unique<StackReader>(*process_, *codes_);
    return true;
  }
  // Until all threads could be read.
  std::vector<ThreadStack> read() {
    std::vector<ThreadStack> stacks;
    for (int tries = 0; tries < 1000; ++tries) {
      if (!reader_->read(stacks)) return {};
      bool is_torn = false;
      for (const ThreadStack& stack : stacks) is_torn |= stack.is_torn;
      if (!is_torn) return stacks;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return {};
  }
  // As the program prints it.
  std::string text_of(const ThreadStack& stack) const {
    std::string text;
    for (const StackFrame& frame : stack.frames) {
      const Code* code = codes_->find(frame.code);
      if (code == nullptr) return "no code";
      if (!text.empty()) text += " < ";
      text += code->name + ":" + std::to_string(code->line(frame.instruction));
    }
    return text;
  }
  pid_t pid() const { return program_.pid(); }
  StackReader& reader() { return *reader_; }
  const CodeTable& codes() const { return *codes_; }

 private:
  ProgramForTests program_;
  std::unique_ptr<PythonProcess> process_;
  std::unique_ptr<CodeTable> codes_;
  std::unique_ptr<StackReader> reader_;
};

class StackReaderTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (find_python(GetParam()).empty()) GTEST_SKIP() << "no Python 3." << GetParam();
  }

  void start_standing() {
    auto& [target, truths] = standing_[GetParam()];
    if (target == nullptr) {
      target = std::make_unique<Target>(find_python(GetParam()), kStandingThreads);
      for (std::string line = target->read_line(); !line.empty(); line = target->read_line()) {
        const size_t first = line.find(' ');
        const size_t second = std::min(line.find(' ', first + 1), line.size());
        Truth& truth = truths[line.substr(0, first)];
        truth.pthread = std::stoull(line.substr(first + 1, second - first - 1));
        truth.stack = line.substr(std::min(second + 1, line.size()));
        if (line.starts_with("main ")) break;
      }
    }
    target_ = target.get();
    truths_ = &truths;
    ASSERT_TRUE(truths.contains("main")) << "the program has ended";
    ASSERT_TRUE(target_->open());
  }

  void start(const std::string& script) {
    own_ = std::make_unique<Target>(find_python(GetParam()), script);
    target_ = own_.get();
    ASSERT_EQ(target_->read_line(), "ready");
    ASSERT_TRUE(target_->open());
  }

  std::map<uint64_t, ThreadStack> read_by_pthread() {
    std::map<uint64_t, ThreadStack> by_pthread;
    for (ThreadStack& stack : target_->read()) by_pthread[stack.pthread] = std::move(stack);
    return by_pthread;
  }

  void expect_as_python_says(const std::string& thread) {
    auto stacks = read_by_pthread();
    EXPECT_EQ(target_->text_of(stacks[(*truths_)[thread].pthread]), (*truths_)[thread].stack)
        << thread;
  }

  static void TearDownTestSuite() { standing_.clear(); }

  static inline std::map<int, std::pair<std::unique_ptr<Target>, std::map<std::string, Truth>>>
      standing_;
  std::unique_ptr<Target> own_;
  Target* target_ = nullptr;
  std::map<std::string, Truth>* truths_ = nullptr;
};

TEST_P(StackReaderTest, ThreadsHaveTheFramesAndLinesThatPythonSays) {
  start_standing();
  for (const char* thread : {"plain", "model", "by_c", "by_sort", "wide"}) {
    expect_as_python_says(thread);
  }
}

TEST_P(StackReaderTest, DeepStacksAreReadToTheirEnd) {
  start_standing();
  for (const char* thread : {"deep500", "deep5000"}) expect_as_python_says(thread);
  EXPECT_GT(read_by_pthread()[(*truths_)["deep5000"].pthread].frames.size(), 5000u);
}

TEST_P(StackReaderTest, GeneratorsAndCoroutinesThatRunAreOnTheStack) {
  start_standing();
  for (const char* thread : {"generators", "expression", "coroutine", "stream"}) {
    expect_as_python_says(thread);
  }
}

TEST_P(StackReaderTest, TheMainThreadIsThereWithItsFunctionAndItsNumber) {
  start_standing();
  auto stacks = read_by_pthread();
  EXPECT_EQ(stacks.size(), truths_->size());
  const ThreadStack& main = stacks[(*truths_)["main"].pthread];
  ASSERT_EQ(main.frames.size(), 2u);
  EXPECT_EQ(target_->codes().find(main.frames[0].code)->name, "main");
  EXPECT_EQ(target_->codes().find(main.frames[1].code)->name, "<module>");
  EXPECT_FALSE(main.holds_gil);
  std::set<int32_t> tids;
  for (const auto& [pthread, stack] : stacks) tids.insert(stack.tid);
  EXPECT_EQ(tids.size(), stacks.size());
}

TEST_P(StackReaderTest, AFrameThatCCalledIsMarked) {
  start_standing();
  auto stacks = read_by_pthread();
  const auto& frames = stacks[(*truths_)["by_c"].pthread].frames;
  ASSERT_GE(frames.size(), 3u);
  EXPECT_TRUE(frames[1].is_entry);      // the lambda that map() calls
  EXPECT_TRUE(frames.back().is_entry);  // what the thread began with
  const bool has_inlined_calls = GetParam() >= 11;
  EXPECT_EQ(frames[0].is_entry, !has_inlined_calls);
}

TEST_P(StackReaderTest, AThreadThatHasNotRunGivesItsLastStackAgain) {
  start_standing();
  std::vector<ThreadStack> first = target_->read(), second;
  ASSERT_FALSE(first.empty());
  ASSERT_TRUE(target_->reader().read(second, [](int32_t) { return false; }));
  ASSERT_EQ(second.size(), first.size());
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_TRUE(second[i].is_old);
    EXPECT_EQ(target_->text_of(second[i]), target_->text_of(first[i]));
  }
}

TEST_P(StackReaderTest, WhoHoldsTheGilIsToldOfTheThreadThatComputes) {
  start(R"(
import threading, time
def spin():
    while True: pass
def wait(): time.sleep(600)
for i in range(3): threading.Thread(target=wait, daemon=True).start()
threading.Thread(target=spin, daemon=True).start()
print('ready', flush=True)
wait()
)");
  int with_spin = 0, with_other = 0;
  for (int i = 0; i < 2000 && with_spin < 50; ++i) {
    for (const ThreadStack& stack : target_->read()) {
      if (!stack.holds_gil || stack.frames.empty()) continue;
      const bool spins = target_->codes().find(stack.frames[0].code)->name == "spin";
      ++(spins ? with_spin : with_other);
    }
  }
  EXPECT_GE(with_spin, 50);
  EXPECT_LE(with_other, with_spin / 10);  // while they begin
}

// Threads are in the list before they have begun, and for nobody or as the one that made them.
TEST_P(StackReaderTest, AThreadThatHasJustBegunIsItself) {
  start(R"(
import threading, time
def work(): time.sleep(0.0005)
def beget():
    while True:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
print('ready', flush=True)
beget()
)");
  std::vector<ThreadStack> stacks;
  int works = 0, of_none = 0, of_main = 0;
  for (int i = 0; i < 200'000 && works < 500; ++i) {
    ASSERT_TRUE(target_->reader().read(stacks));
    for (const ThreadStack& stack : stacks) {
      of_none += stack.tid <= 0 || stack.pthread == 0;
      for (const StackFrame& frame : stack.frames) {
        if (target_->codes().find(frame.code)->name != "work") continue;
        ++works;
        of_main += stack.tid == target_->pid();
      }
    }
  }
  EXPECT_EQ(works, 500);
  EXPECT_EQ(of_none, 0);
  EXPECT_EQ(of_main, 0);
}

TEST_P(StackReaderTest, SubInterpretersHaveThreadsOfTheirOwn) {
  own_ = std::make_unique<Target>(find_python(GetParam()), R"(
import threading, time
try: import _interpreters as interpreters
except ImportError:
    try: import _xxsubinterpreters as interpreters
    except ImportError: interpreters = None
code = 'import time\ndef inside(): time.sleep(600)\ninside()'
if interpreters:
    number = interpreters.create()
    run = getattr(interpreters, 'run_string', None) or interpreters.exec
    threading.Thread(target=run, args=(number, code), daemon=True).start()
print('ready' if interpreters else 'none', flush=True)
time.sleep(600)
)");
  target_ = own_.get();
  if (target_->read_line() != "ready") GTEST_SKIP() << "no sub-interpreters";
  ASSERT_TRUE(target_->open());
  for (int tries = 0; tries < 1000; ++tries) {
    std::set<uint64_t> interpreters;
    bool is_seen = false;
    for (const ThreadStack& stack : target_->read()) {
      interpreters.insert(stack.interpreter);
      for (const StackFrame& frame : stack.frames) {
        is_seen |= stack.interpreter != 0 && target_->codes().find(frame.code)->name == "inside";
      }
    }
    if (is_seen && interpreters.size() == 2) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  FAIL() << "the other interpreter's function was not seen";
}

// Each caller has its own callees, so that a stack of two moments shows. The program is the worst
// there is: it is everywhere again after two microseconds. 3.8 to 3.10 leave nothing in a frame
// that proves a call.
TEST_P(StackReaderTest, StacksOfAProgramThatGoesOnAreSeldomOfTwoMoments) {
  if (GetParam() < 11) GTEST_SKIP() << "only --pause makes sure there";
  start(R"(
def leaf_a(): return 1
def leaf_b(): return 2
def left(n): return leaf_a() + (left(n - 1) if n else 0)
def right(n): return leaf_b() + (right(n - 1) if n else 0)
def items(n):
    for i in range(n): yield leaf_b()
def by_items(): return sum(items(5))
print('ready', flush=True)
while True: left(9); right(7); by_items()
)");
  const std::set<std::string> legal = {"leaf_a < left",  "left < left",      "left < <module>",
                                       "leaf_b < right", "right < right",    "right < <module>",
                                       "leaf_b < items", "items < by_items", "by_items < <module>"};
  int looks = 0, wrong = 0;
  std::vector<ThreadStack> stacks;
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(target_->reader().read(stacks));
    if (stacks.empty() || stacks[0].is_torn) continue;
    ++looks;
    const auto& frames = stacks[0].frames;
    bool is_legal = true;
    for (size_t k = 0; k + 1 < frames.size(); ++k) {
      is_legal = is_legal && legal.contains(target_->codes().find(frames[k].code)->name + " < " +
                                            target_->codes().find(frames[k + 1].code)->name);
    }
    wrong += is_legal ? 0 : 1;
  }
  EXPECT_GT(looks, 100);
  EXPECT_LE(wrong, 2 + looks / 500);
}

TEST_P(StackReaderTest, AProgramThatEndsIsToldOf) {
  start("print('ready', flush=True)\nimport time; time.sleep(0.05)");
  std::vector<ThreadStack> stacks;
  int reads = 0;
  while (target_->reader().read(stacks) && ++reads < 1'000'000) {
  }
  EXPECT_LT(reads, 1'000'000);
}

INSTANTIATE_TEST_SUITE_P(Python3, StackReaderTest, testing::Range(8, 14));

}  // namespace
}  // namespace stepscope::sample
