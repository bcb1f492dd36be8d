// stepscope record: what a program does that runs already: a Python program, whose stacks are read
// from outside, or one of TensorFlow or JAX that has opened a profiler server.
#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/record_processes.h"
#include "cli/record_server.h"

namespace stepscope::cli {
namespace {

constexpr const char* kRecordCommand = "record";

constexpr const char* kRecordDescription = R"(Record Python programs that run already.

Their stacks are read many times a second from outside; nothing in them is changed, and they are not
stopped unless --pause or --native is given. It ends with Ctrl-C, after --duration, or with the
programs; what took the CPU time is told then. Needs the right to read the program's memory: the same
user where the system allows that, root, or CAP_SYS_PTRACE.

Examples:
  stepscope record 4321                               until Ctrl-C, into outputs/profiler_results
  stepscope record 4321 --duration 30s -o flame.svg   a flame graph
  stepscope record 4321 --subprocesses -o runs/a      with DataLoader workers, torchrun's ranks
  stepscope record 4321 4388 --hz 1000 --duration 10s
  stepscope record 4321 --idle -o wall.speedscope.json   waiting threads count too
  stepscope record 4321 --native                      with C and C++ functions
  stepscope report runs/a --view tree                 more of it afterwards

A TensorFlow or JAX program that has opened a profiler server, with jax.profiler.start_server(9999)
or tf.profiler.experimental.server.start(9999), is asked for what it does in the next seconds.
TensorFlow, or xprof for JAX, must be installed here too.
  stepscope record --profiler-server localhost:9999 --duration 10s -o runs/b)";

struct RecordArguments {
  RecordProcessesOptions processes;
  RecordServerOptions server;
  std::string duration;
  std::string output;
  bool overwrite = false;
  bool quiet = false;
};

int record(RecordArguments& options, const std::string& called_as) {
  if (options.server.server.empty()) {
    if (options.processes.pids.empty()) {
      return print_usage_error(kRecordCommand,
                               "which process? Name its id, or a --profiler-server");
    }
    options.processes.duration = options.duration;
    options.processes.output = options.output;
    options.processes.overwrite = options.overwrite;
    options.processes.quiet = options.quiet;
    return record_processes(options.processes);
  }
  options.server.duration = options.duration;
  options.server.folder = options.output;
  options.server.overwrite = options.overwrite;
  options.server.quiet = options.quiet;
  return record_server(options.server, called_as);
}

void add_process_options(CLI::App& command, RecordProcessesOptions& options, CLI::Option* server) {
  command.add_option("PID", options.pids, "Python programs that run")
      ->type_name("")
      ->excludes(server);
  command.add_option("--hz", options.hz, "Looks a second (100); at most 10000")
      ->check(CLI::Range(1, 10'000))
      ->type_name("N")
      ->excludes(server);
  command
      .add_flag("--subprocesses", options.with_children,
                "With the children of the programs, and theirs, as they come and go")
      ->excludes(server);
  command
      .add_flag("--native", options.native,
                "With C and C++ functions; stops the programs for each look")
      ->excludes(server);
  command
      .add_flag("--pause", options.pause,
                "Stop the programs for each look: no stack is ever left out or read in passing")
      ->excludes(server);
  command
      .add_flag("--gil", options.only_with_gil,
                "Only threads that hold the global interpreter lock")
      ->excludes(server);
  command
      .add_flag("--idle", options.with_idle,
                "Tell wall time: threads that wait count too; else CPU time is told. A recording "
                "holds both")
      ->excludes(server);
}

}  // namespace

void add_record(CLI::App& app, Action& action, const std::string& called_as) {
  const auto options = std::make_shared<RecordArguments>();
  CLI::App* command = app.add_subcommand(kRecordCommand, "Record Python programs that run already");
  command->description(kRecordDescription);
  CLI::Option* server = command
                            ->add_option("--profiler-server", options->server.server,
                                         "Where a TensorFlow or JAX program's server listens")
                            ->type_name("HOST:PORT");
  add_process_options(*command, options->processes, server);
  command
      ->add_option("--duration", options->duration,
                   "For how long (30s, 5m); until Ctrl-C or the programs' end if not given; with "
                   "--profiler-server 2s")
      ->type_name("TIME");
  command
      ->add_option("-o,--output", options->output,
                   "A folder, or a file whose name tells the format as for `convert`: flame.svg, "
                   "run.speedscope.json, run.collapsed, run.prof, run.sscope; a new folder in "
                   "outputs/profiler_results if not given")
      ->type_name("PATH");
  command->add_flag("--overwrite", options->overwrite, "Remove the run that the folder holds");
  command
      ->add_flag("--python-calls", options->server.python_calls,
                 "With --profiler-server: the calls of Python functions, which slows the program "
                 "down")
      ->needs(server);
  command
      ->add_option("--python", options->server.python,
                   "With --profiler-server: an interpreter that has TensorFlow or xprof; if not "
                   "given, the one beside this command, else the active environment's")
      ->type_name("PATH")
      ->needs(server);
  command->add_flag("-q,--quiet", options->quiet, "Print nothing of our own but faults");
  command->callback([options, called_as, &action] {
    action = [options, called_as] { return record(*options, called_as); };
  });
}

}  // namespace stepscope::cli
