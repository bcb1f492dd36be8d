// A program that a test starts and looks into; it is killed at the end. What it prints is read line
// by line.
//
//   ProgramForTests program({python, "-c", "print('ready', flush=True); ..."});
//   ASSERT_EQ(program.read_line(), "ready");
//   program.pid();
#pragma once

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <string>
#include <vector>

namespace stepscope::sample {

class ProgramForTests {
 public:
  // Runs `main` in a child, which writes to the file descriptor that it is given.
  explicit ProgramForTests(const std::function<int(int output)>& main) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    output_ = ends[0];
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::_exit(main(ends[1]));
    }
    ::close(ends[1]);
  }

  explicit ProgramForTests(const std::vector<std::string>& command)
      : ProgramForTests([&command](int output) {
          std::vector<char*> arguments;
          for (const std::string& word : command)
            arguments.push_back(const_cast<char*>(word.c_str()));
          arguments.push_back(nullptr);
          ::dup2(output, STDOUT_FILENO);
          ::execv(arguments[0], arguments.data());
          return 127;
        }) {}

  ProgramForTests(const ProgramForTests&) = delete;
  ProgramForTests& operator=(const ProgramForTests&) = delete;
  ~ProgramForTests() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      wait();
    }
    ::close(output_);
  }

  pid_t pid() const { return pid_; }

  // Without the end of the line; empty where there is no more.
  std::string read_line() {
    std::string line;
    char letter = 0;
    while (::read(output_, &letter, 1) == 1 && letter != '\n') line += letter;
    return line;
  }

  // Its exit code; -signal where one killed it.
  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) == pid_ && WIFSTOPPED(status)) {
    }
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_ = 0;
  int output_ = -1;
};

}  // namespace stepscope::sample
