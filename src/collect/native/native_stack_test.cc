#include "collect/native/native_stack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "collect/sample/code_table.h"
#include "collect/sample/paused_look.h"
#include "collect/sample/pythons_for_tests.h"
#include "collect/sample/sampler.h"

namespace stepscope::sample {

// With names that are to be found again. They do something after the call, so that it is one.
struct WaitingForTests {
  template <typename T>
  [[gnu::noinline]] int wait(const std::vector<T>& values, int output) {
    const bool is_written = ::write(output, "ready\n", 6) == 6;
    while (::usleep(600'000'000) == 0) {
    }
    return is_written ? static_cast<int>(values.size()) : 0;
  }
};

[[gnu::noinline]] int call_waiting_for_tests(int output) {
  WaitingForTests waiting;
  return waiting.wait(std::vector<long>{1, 2}, output) + 1;
}

namespace {

std::vector<std::string> names_of(const NativeUnwinder& unwinder, const NativeStack& stack) {
  std::vector<std::string> names;
  for (const NativeFrame& frame : stack.frames) {
    names.push_back(unwinder.function(frame.function).name);
  }
  return names;
}

TEST(NativeStacks, CppFunctionsHaveTheirNamesDemangled) {
  ProgramForTests program([](int output) { return call_waiting_for_tests(output); });
  ASSERT_EQ(program.read_line(), "ready");
  const auto memory =
      ProcessMemory::open(program.pid(), reinterpret_cast<uint64_t>(&call_waiting_for_tests));
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  const auto unwinder = make_native_stacks(*memory, "");
  RegistersAndStack copy;
  NativeStack stack;
  // What is printed comes before the wait.
  for (int tries = 0; tries < 100; ++tries) {
    ThreadPause pause(program.pid());
    ASSERT_TRUE(pause.pause().ok());
    ASSERT_TRUE(unwinder->capture(program.pid(), copy));
    pause.resume();
    unwinder->unwind(copy, stack);
    if (stack.is_whole) break;
  }
  const std::vector<std::string> names = names_of(*unwinder, stack);
  const auto wait = std::find_if(names.begin(), names.end(), [](const std::string& name) {
    return name.find("WaitingForTests::wait<long>(std::vector<long") != name.npos;
  });
  ASSERT_NE(wait, names.end()) << testing::PrintToString(names);
  EXPECT_EQ(*(wait + 1), "stepscope::sample::call_waiting_for_tests(int)");
  EXPECT_TRUE(stack.is_whole);
  for (const NativeFrame& frame : stack.frames) {
    const NativeFunction& function = unwinder->function(frame.function);
    EXPECT_FALSE(function.name.empty());
    EXPECT_TRUE(function.has_name || function.name.find("+0x") != function.name.npos);
  }
}

TEST(NativeStacks, AThreadThatIsGoneHasNone) {
  ProgramForTests program([](int) { return 0; });
  const auto memory =
      ProcessMemory::open(::getpid(), reinterpret_cast<uint64_t>(&call_waiting_for_tests));
  ASSERT_TRUE(memory.ok());
  RegistersAndStack copy;
  EXPECT_FALSE(make_native_stacks(*memory, "")->capture(program.pid(), copy));
  NativeStack stack;
  make_native_stacks(*memory, "")->unwind(copy, stack);
  EXPECT_TRUE(stack.frames.empty());
}

class NativePythonTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (find_python(GetParam()).empty()) GTEST_SKIP() << "no Python 3." << GetParam();
  }

  void start(const std::string& script) {
    program_ = std::make_unique<ProgramForTests>(
        std::vector<std::string>{find_python(GetParam()), "-c", script});
    ASSERT_EQ(program_->read_line(), "ready");
    auto process = PythonProcess::find(program_->pid());
    ASSERT_TRUE(process.ok()) << process.status().message();
    process_ = std::make_unique<PythonProcess>(*std::move(process));
    codes_ = std::make_unique<CodeTable>(*process_);
    reader_ = std::make_unique<StackReader>(*process_, *codes_);
    auto look = PausedLook::open(*process_, make_native_stacks);
    ASSERT_TRUE(look.ok()) << look.status().message();
    look_ = *std::move(look);
  }

  // The merged names of the thread whose stack has the function, the innermost first.
  std::vector<std::string> merged_with(const std::string& function) {
    std::vector<ThreadStack> stacks;
    for (int tries = 0; tries < 1000; ++tries) {
      if (look_->read(*reader_, stacks) != PausedLook::Outcome::kGood) continue;
      for (const ThreadStack& stack : stacks) {
        std::vector<std::string> names = merged(stack);
        if (std::find(names.begin(), names.end(), function) != names.end()) return names;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return {};
  }

  std::vector<std::string> merged(const ThreadStack& stack) {
    std::vector<MergedFrame> frames;
    look_->merge(stack, frames);
    std::vector<std::string> names;
    for (const MergedFrame& frame : frames) {
      if (frame.is_native) {
        const NativeStack& native = look_->native_stack(stack.tid);
        names.push_back(look_->unwinder()->function(native.frames[frame.index].function).name);
      } else {
        names.push_back("py:" + codes_->find(stack.frames[frame.index].code)->name);
      }
    }
    return names;
  }

  std::unique_ptr<ProgramForTests> program_;
  std::unique_ptr<PythonProcess> process_;
  std::unique_ptr<CodeTable> codes_;
  std::unique_ptr<StackReader> reader_;
  std::unique_ptr<PausedLook> look_;
};

size_t place_of(const std::vector<std::string>& names, const std::string& part) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].find(part) != std::string::npos) return i;
  }
  return names.size();
}

TEST_P(NativePythonTest, NativeCodeBetweenPythonFunctionsIsInItsPlace) {
  start(R"(
import ctypes, time
Compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
def innermost(): print('ready', flush=True); time.sleep(600)
def compare(a, b): innermost(); return 0
def sort_it():
    ctypes.CDLL(None).qsort((ctypes.c_int * 5)(3, 1, 2), 5, 4, Compare(compare))
sort_it()
)");
  // It is printed before the sleep.
  std::vector<std::string> names;
  for (int tries = 0; tries < 1000; ++tries) {
    names = merged_with("py:innermost");
    if (place_of(names, "nanosleep") == 0 || place_of(names, "select") == 0) break;
  }
  const std::string text = testing::PrintToString(names);
  const size_t innermost = place_of(names, "py:innermost");
  EXPECT_GT(innermost, 0u) << text;  // what sleeps lies above
  EXPECT_EQ(place_of(names, "py:compare"), innermost + 1) << text;
  const size_t qsort = place_of(names, "qsort");
  EXPECT_GT(qsort, innermost + 1) << text;
  EXPECT_GT(place_of(names, "py:sort_it"), qsort) << text;
  EXPECT_EQ(place_of(names, "py:<module>"), names.size() - 1) << text;
  EXPECT_EQ(place_of(names, "_PyEval_"), names.size()) << text;
}

TEST_P(NativePythonTest, ThreadsThatPythonDoesNotKnowAreThere) {
  start(R"(
import ctypes, time
libc = ctypes.CDLL(None)
thread = ctypes.c_ulong()
libc.pthread_create(ctypes.byref(thread), None, libc.pause, None)
print('ready', flush=True)
time.sleep(600)
)");
  std::vector<ThreadStack> stacks;
  for (int tries = 0; tries < 1000; ++tries) {
    if (look_->read(*reader_, stacks) != PausedLook::Outcome::kGood || stacks.size() < 2) continue;
    EXPECT_EQ(merged(stacks[1]), std::vector<std::string>{"pause"});
    EXPECT_TRUE(stacks[1].frames.empty());
    return;
  }
  FAIL() << "only Python's thread was seen";
}

TEST_P(NativePythonTest, ARunningProgramsStacksAgreeInMostLooks) {
  start(R"(
import functools, re
def key(x): return -x
def work(): return sorted(range(50), key=key), re.sub('a', lambda m: 'b', 'banana' * 5)
print('ready', flush=True)
while True: functools.reduce(lambda a, b: work(), range(3))
)");
  std::vector<ThreadStack> stacks;
  int looks = 0, whole = 0, agree = 0;
  for (int i = 0; i < 300; ++i) {
    if (look_->read(*reader_, stacks) != PausedLook::Outcome::kGood || stacks[0].is_torn) continue;
    const NativeStack& native = look_->native_stack(stacks[0].tid);
    const auto evals = std::count_if(native.frames.begin(), native.frames.end(),
                                     [](const auto& f) { return f.role == NativeRole::kEval; });
    const auto runs = std::count_if(stacks[0].frames.begin(), stacks[0].frames.end(),
                                    [](const StackFrame& f) { return f.is_entry; });
    ++looks;
    whole += native.is_whole;
    agree += evals == runs || evals == runs + 1;
  }
  EXPECT_GT(looks, 200);
  EXPECT_GT(whole, looks * 9 / 10);
  EXPECT_GT(agree, looks * 9 / 10);
}

// A sampler's stacks hold both, and the file of a native function is its module.
TEST_P(NativePythonTest, ASamplerTellsNativeFramesToo) {
  struct Sink : SampleSink {
    void add_process(uint32_t, pid_t, const std::string&) override {}
    void add_thread(uint32_t, uint32_t, int32_t, const ThreadName&) override {}
    void add_function(uint32_t, std::string_view name, std::string_view file, int32_t) override {
      files[std::string(name)] = file;
    }
    void add_stack(uint32_t, uint32_t, uint32_t, int32_t) override {}
    void add_sample(const Sample&) override { ++samples; }
    void end_process(uint32_t) override {}
    std::map<std::string, std::string> files;
    int samples = 0;
  } sink;
  start("import time\ndef wait(): time.sleep(600)\nprint('ready', flush=True); wait()");
  Sampler sampler({.native = true, .make_unwinder = make_native_stacks}, sink);
  ASSERT_TRUE(sampler.add(program_->pid()).ok());
  for (int i = 0; i < 1000 && !sink.files.contains("time_sleep"); ++i) sampler.tick();
  sampler.finish();
  EXPECT_GT(sink.samples, 0);
  EXPECT_EQ(sink.files["wait"], "<string>");
  EXPECT_NE(sink.files["time_sleep"].find("python"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Python3, NativePythonTest, testing::Values(11, 12, 13));

}  // namespace
}  // namespace stepscope::sample
