#include "cli/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace stepscope::cli {
namespace {

volatile sig_atomic_t g_child = 0;

// Sent to this process alone (kill PID); what a terminal sends, its whole group gets anyway.
constexpr std::array kForwarded = {SIGHUP,   SIGTERM, SIGUSR1, SIGUSR2, SIGCONT,
                                   SIGWINCH, SIGALRM, SIGURG,  SIGIO,   SIGPWR};
// A terminal's Ctrl-C and Ctrl-\: the child decides what they mean. Where someone sends them to
// this process alone, they are forwarded as well.
constexpr std::array kOfTerminal = {SIGINT, SIGQUIT};

void forward(int signal, siginfo_t* info, void*) {
  const int error = errno;
  const bool is_from_kernel = info->si_code > 0;  // a terminal: the child has it already
  const bool is_of_terminal = signal == SIGINT || signal == SIGQUIT || signal == SIGWINCH;
  if (g_child > 0 && !(is_from_kernel && is_of_terminal)) ::kill(g_child, signal);
  errno = error;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

}  // namespace

Result<int> run_child(const std::vector<std::string>& arguments,
                      const std::vector<std::string>& environment,
                      const std::function<void(pid_t)>& on_start) {
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(environment);
  int failure[2];
  if (::pipe2(failure, O_CLOEXEC) != 0) return Status::error(std::strerror(errno));

  sigset_t all, before;
  sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, &before);  // until the handlers know the child
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // kill -9 of this process is meant for the program
    if (::getppid() != parent) ::raise(SIGKILL);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    ::execve(argv[0], argv.data(), envp.data());
    const int error = errno;
    (void)!::write(failure[1], &error, sizeof(error));
    ::_exit(127);
  }
  ::close(failure[1]);
  if (child > 0) {
    g_child = child;
    struct sigaction action {};
    action.sa_sigaction = forward;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    for (const int signal : kForwarded) ::sigaction(signal, &action, nullptr);
    for (const int signal : kOfTerminal) ::sigaction(signal, &action, nullptr);
  }
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  int error = errno;
  const bool has_failed =
      child < 0 || ::read(failure[0], &error, sizeof(error)) == static_cast<ssize_t>(sizeof(error));
  ::close(failure[0]);
  if (!has_failed && on_start) on_start(child);
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  g_child = 0;
  if (has_failed) return Status::error(arguments[0] + ": " + std::strerror(error));
  return status;
}

int exit_as(int status) {
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  const int signal = WTERMSIG(status);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);  // the child has left one already
  std::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
  ::raise(signal);
  return 128 + signal;
}

}  // namespace stepscope::cli
