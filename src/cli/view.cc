// stepscope view: the page with timeline, flame graphs and tables, in the browser.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cli/commands.h"
#include "cli/load_trace.h"
#include "ingest/load.h"
#include "serve/api.h"
#include "serve/http_server.h"
#include "serve/runs.h"

namespace stepscope::cli {
namespace {

constexpr const char* kViewCommand = "view";

constexpr const char* kViewDescription =
    R"(Look at traces in the browser: timeline, flame graphs, memory, findings, SQL.

Examples:
  stepscope view outputs/profiler_results            the run, also while it is being recorded
  stepscope view before.json after.json              several, to compare
  stepscope view abfs://container/job/profiler_results
                                                     from Azure; also mlflow://RUN
  stepscope view trace.json.gz --no-browser --port 8600
                                                     on a server; then at home:
                                                     ssh -L 8600:127.0.0.1:8600 server)";

constexpr const char* kViewFooter =
    "Only this machine can reach the page, and only with the token in its address. Ctrl-C ends it.";

struct ViewArguments {
  std::vector<std::string> paths;
  int port = 0;
  bool no_browser = false;
};

bool has_display() {
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return true;
  }
  return false;
}

sigset_t ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

// Forks twice, so that the browser is no child of ours. Before there are other threads.
void open_browser(const std::string& url) {
  const pid_t child = fork();
  if (child < 0) return;
  if (child > 0) {
    waitpid(child, nullptr, 0);
    return;
  }
  if (fork() != 0) _exit(0);
  setsid();
  const sigset_t signals = ending_signals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  const int null = open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, stream);
  execlp("xdg-open", "xdg-open", url.c_str(), static_cast<char*>(nullptr));
  _exit(127);
}

void print_line(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

// Says why those that did not open did not; false: none did.
bool report_faults(serve::Runs& runs) {
  bool any = false;
  for (const serve::RunInfo& run : runs.info()) {
    if (run.error.empty()) {
      any = true;
    } else {
      print_remark(run.error);
    }
  }
  return any;
}

// Until Ctrl-C, which must be blocked. A second one ends the program at once.
void serve_until_signal(serve::HttpServer& server) {
  const sigset_t signals = ending_signals();
  std::thread serving([&] { server.serve(); });
  int signal = 0;
  sigwait(&signals, &signal);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  server.stop();
  serving.join();
}

int run(const ViewArguments& options) {
  bool is_serving = false;  // then a run that is read again shows no progress bar
  const std::vector<std::string> paths = bring_all_here(options.paths);
  const auto runs = serve::Runs::open(paths, [&is_serving](const std::string& path) {
    return is_serving ? load(path) : load_trace(path);
  });
  is_serving = true;
  if (!report_faults(*runs)) return kExitFault;
  serve::Api api(*runs);
  const auto server = serve::HttpServer::listen(api, {.port = options.port});
  if (!server) return print_fault(server.status());
  // Before anyone can know that it runs; also for the threads to come.
  const sigset_t signals = ending_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  print_line((*server)->url());
  if (!options.no_browser && has_display()) open_browser((*server)->url());
  serve_until_signal(**server);
  return kExitFine;
}

}  // namespace

void add_view(CLI::App& app, Action& action) {
  const auto options = std::make_shared<ViewArguments>();
  CLI::App* command = app.add_subcommand(kViewCommand, "Look at traces in the browser");
  command->description(kViewDescription);
  command
      ->add_option("PATH", options->paths,
                   "Trace files, runs or folders with traces; \"-\" is standard input")
      ->required()
      ->type_name("");
  command
      ->add_option("--port", options->port,
                   "Listen on this port of 127.0.0.1; one that is free if not given")
      ->check(CLI::Range(1, 65535))
      ->type_name("N");
  command->add_flag("--no-browser", options->no_browser,
                    "Only print the address; also where there is no display");
  command->footer(kViewFooter);
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace stepscope::cli
