#include "collect/sample/python_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "collect/sample/pythons_for_tests.h"

namespace stepscope::sample {
namespace {

std::string fault_of(pid_t pid) {
  const auto process = PythonProcess::find(pid);
  return process ? "" : process.status().message();
}

std::string any_python() {
  for (const int minor : {11, 12, 13}) {
    if (!find_python(minor).empty()) return find_python(minor);
  }
  return "";
}

class PythonVersionsTest : public testing::TestWithParam<int> {};

TEST_P(PythonVersionsTest, AreFoundInTheirProcesses) {
  const std::string python = find_python(GetParam());
  if (python.empty()) GTEST_SKIP() << "no Python 3." << GetParam();
  ProgramForTests program(
      {python, "-c", "import time; print('ready', flush=True); time.sleep(600)"});
  ASSERT_EQ(program.read_line(), "ready");
  const auto process = PythonProcess::find(program.pid());
  ASSERT_TRUE(process.ok()) << process.status().message();
  EXPECT_EQ(process->layout().version, (PythonVersion{3, GetParam()}));
  EXPECT_TRUE(process->is_there());
  EXPECT_NE(process->binary().find("python"), std::string::npos);
  EXPECT_NE(read_command_line(program.pid()).find("time.sleep(600)"), std::string::npos);
  ::kill(program.pid(), SIGKILL);
  const pid_t pid = program.pid();
  program.wait();
  EXPECT_FALSE(process->is_there());
  EXPECT_NE(fault_of(pid), "");
}

INSTANTIATE_TEST_SUITE_P(Python3, PythonVersionsTest, testing::Range(8, 14));

TEST(PythonProcessTest, AnotherProgramIsNoPython) {
  ProgramForTests program({"/bin/sleep", "600"});
  // Until it is that program.
  while (read_command_line(program.pid()) != "/bin/sleep 600") ::usleep(1000);
  EXPECT_EQ(fault_of(program.pid()),
            "process " + std::to_string(program.pid()) + " (sleep): not a Python program");
}

TEST(PythonProcessTest, AProcessThatIsGoneIsToldFromOneThatHasEnded) {
  ProgramForTests program([](int) { return 0; });
  const pid_t pid = program.pid();
  siginfo_t info;
  ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
  const std::string ended = fault_of(pid);
  EXPECT_NE(ended.find("it has ended"), ended.npos) << ended;
  program.wait();
  EXPECT_EQ(fault_of(pid), "process " + std::to_string(pid) + ": there is no such process");
}

TEST(PythonProcessTest, WithoutPermissionItSaysWhatToDo) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root to give up its rights";
  if (any_python().empty()) GTEST_SKIP() << "no Python";
  ProgramForTests program(
      {any_python(), "-c", "import time; print('ready', flush=True); time.sleep(600)"});
  ASSERT_EQ(program.read_line(), "ready");
  ProgramForTests other([&program](int output) {
    if (::setuid(65534) != 0) return 1;
    const std::string line = fault_of(program.pid()) + "\n";
    return ::write(output, line.data(), line.size()) < 0 ? 1 : 0;
  });
  const std::string line = other.read_line();
  EXPECT_NE(line.find("no permission to read its memory"), line.npos) << line;
  EXPECT_NE(line.find("CAP_SYS_PTRACE"), line.npos) << line;
  EXPECT_NE(line.find("stepscope run --mode sample"), line.npos) << line;
}

// A process is told to be musl's by the loader that it has mapped.
TEST(PythonProcessTest, MuslIsNamedWithWhatToDo) {
  if (any_python().empty()) GTEST_SKIP() << "no Python";
  const auto loader =
      std::filesystem::temp_directory_path() / ("ld-musl-x86_64.so." + std::to_string(::getpid()));
  std::ofstream(loader) << std::string(4096, ' ');
  ProgramForTests program({any_python(), "-c",
                           "import mmap, sys, time\n"
                           "f = open(sys.argv[1], 'r+b'); m = mmap.mmap(f.fileno(), 4096)\n"
                           "print('ready', flush=True); time.sleep(600)",
                           loader.string()});
  EXPECT_EQ(program.read_line(), "ready");
  const std::string line = fault_of(program.pid());
  std::filesystem::remove(loader);
  EXPECT_NE(line.find("a Python built for musl"), line.npos) << line;
  EXPECT_NE(line.find("use an image with glibc"), line.npos) << line;
}

TEST(PythonProcessTest, ItsChildrenAndTheirsAreFound) {
  if (any_python().empty()) GTEST_SKIP() << "no Python";
  ProgramForTests program({any_python(), "-c", R"(
import os, signal, subprocess, sys, time
child = subprocess.Popen([sys.executable, '-c', '''
import ctypes, subprocess, time
ctypes.CDLL(None).prctl(1, 9)
p = subprocess.Popen(['/bin/sleep', '600'], preexec_fn=lambda: ctypes.CDLL(None).prctl(1, 9))
print(p.pid, flush=True)
time.sleep(600)
'''], stdout=subprocess.PIPE, preexec_fn=lambda: __import__('ctypes').CDLL(None).prctl(1, 9))
print(child.pid, child.stdout.readline().decode().strip(), flush=True)
time.sleep(600)
)"});
  const std::string line = program.read_line();
  const size_t space = line.find(' ');
  ASSERT_NE(space, line.npos) << line;
  const std::vector<pid_t> wanted = {std::stoi(line), std::stoi(line.substr(space))};
  EXPECT_EQ(find_descendants(program.pid()), wanted);
}

// What an interpreter from 3.13 on publishes, made by hand.
class DebugOffsetsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::memcpy(bytes_.data(), "xdebugpy", 8);
    for (size_t i = 3; i < bytes_.size() / 8; ++i) put(i, 8);
    put(kThreadSize, 400);
    put(kFrameLocals, 80);
  }
  void put(size_t word, uint64_t value) { std::memcpy(&bytes_[word * 8], &value, 8); }
  std::string fault(PythonVersion version) {
    const auto layout = read_debug_offsets(version, bytes_);
    return layout ? "" : layout.status().message();
  }

  static constexpr size_t kFreeThreaded = 2, kThreadSize = 19, kThreadNext = 21, kFrameLocals = 32,
                          kCodeName = 36;
  std::array<uint8_t, kDebugOffsetsBytes> bytes_{};
};

TEST_F(DebugOffsetsTest, AreTakenWhereTheyAreWhatTheyShouldBe) { EXPECT_EQ(fault({3, 13}), ""); }

TEST_F(DebugOffsetsTest, AFreeThreadedBuildIsNamedWithWhatToDo) {
  put(kFreeThreaded, 1);
  EXPECT_EQ(fault({3, 13}),
            "a free-threaded Python 3.13; only those with a GIL can be sampled: start the program "
            "with the usual build");
}

TEST_F(DebugOffsetsTest, AVersionThatIsTooNewIsNamedWithWhatToDo) {
  EXPECT_EQ(fault({3, 14}), "Python 3.14; known are 3.8 to 3.13: a newer stepscope may know it");
  EXPECT_EQ(explain_unknown({3, 7}), "Python 3.7; known are 3.8 to 3.13");
}

TEST_F(DebugOffsetsTest, DamagedOnesAreRefused) {
  put(0, 0);
  EXPECT_EQ(fault({3, 13}), "it tells no offsets; is it still starting?");
  SetUp();
  put(kThreadNext, 396);  // its last bytes lie outside
  EXPECT_EQ(fault({3, 13}), "its offsets are damaged");
  SetUp();
  put(kCodeName, 1 << 20);
  EXPECT_EQ(fault({3, 13}), "its offsets are damaged");
  SetUp();
  put(kThreadSize, UINT64_MAX);
  EXPECT_EQ(fault({3, 13}), "its offsets are damaged");
  EXPECT_FALSE(read_debug_offsets({3, 13}, std::span(bytes_).first(100)).ok());
}

}  // namespace
}  // namespace stepscope::sample
