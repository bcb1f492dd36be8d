// stepscope run: a Python program, recorded from its first line to its last.
//
// The program is run by its interpreter as it would be without us: the only difference is in the
// environment, where PYTHONPATH leads to a sitecustomize that starts the recording (in the program
// and in its child processes), and STEPSCOPE_RUN says what is wanted. This process looks at the
// program's stacks meanwhile: with --mode sample the program records its marks only; otherwise it
// records its calls, and the looks tell which lines in them take the time.
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/child_process.h"
#include "cli/commands.h"
#include "cli/find_python.h"
#include "cli/quantity.h"
#include "cli/remote_path.h"
#include "cli/run_folder.h"
#include "cli/run_report.h"
#include "cli/sample_child.h"

namespace stepscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRunCommand = "run";
constexpr char kFieldSeparator = '\x1f';  // python/stepscope/_start.py

constexpr const char* kRunDescription =
    R"(Run a Python program and record every call of it, or samples.

The program behaves as with `python`: its output, its exit code, its signals. Threads and child
processes (fork, subprocess, multiprocessing) are recorded as well. Where it imports PyTorch, so are
operators, modules, memory, data loading and the phases of its training steps. Where it works with
TensorFlow or JAX, their own profilers run for some steps, or for some seconds from the first one
on; what they find is in the run, in a form that TensorBoard opens too.

With --mode sample no call is recorded: 100 times a second (--hz) the stacks of all threads and child
processes are looked at from outside, which costs the program nearly nothing, however long it runs.
Steps of PyTorch, stepscope.step() and record_function are recorded as always, and the report tells
what steps are bound by.

Examples:
  stepscope run train.py --lr 0.1                 what took the time, at the end
  stepscope run --only mine train.py              my code only; what libraries do counts for its caller
  stepscope run --shapes --no-memory train.py     PyTorch: what operators are called with, no memory
  stepscope run --c-calls -o runs/a train.py      built-in functions too, into the folder runs/a
  stepscope run --steps 10,2,5 train.py           5 steps, after 12 (stepscope.step() ends a step)
  stepscope run --window 20s train.py             TensorFlow, JAX: 20 seconds instead of 5
  stepscope run --max-size 200MB -m mypackage     a long run: the newest 200 MB are kept
  stepscope run --mode sample train.py            a long training: always on, no call is slowed
  stepscope run -c 'import json; json.dumps(1)'
  stepscope report runs/a --view tree             more of it afterwards)";

constexpr const char* kSample = "sample";
constexpr int64_t kLinesHz = 50;  // looks a second beside recorded calls

struct RunArguments {
  std::string mode = "trace";
  int64_t hz = 100;
  bool inside = false;
  std::string python;
  std::string folder;
  bool overwrite = false;
  bool c_calls = false;
  std::string min_duration;
  std::vector<std::string> only, exclude;
  std::string threads;
  std::string max_size;
  std::string steps;
  int64_t epochs = 0;
  bool quiet = false;
  bool no_torch = false;
  bool shapes = false;
  bool no_memory = false;
  double sampling = 1;
  bool no_tensorflow = false;
  bool no_jax = false;
  std::string window = "5s";
  std::string upload;
  bool mlflow = false;

  bool no_lines = false;

  bool is_sampled() const { return mode == kSample; }
  // Where only some steps are wanted, only the program knows when.
  bool wants_inside() const { return inside || !steps.empty() || epochs > 0; }
};

// What is run, as the interpreter takes it: SCRIPT ..., -m MODULE ... or -c CODE ...
using Program = std::vector<std::string>;

std::string name_of(const Program& program) {
  if (program[0] == "-c") return "code";
  if (program[0] == "-m") return program[1];
  const fs::path path(program[0]);
  return (path.filename().empty() ? path.parent_path() : path).stem().string();
}

Status check_program(const Program& program) {
  if (program[0] == "-m" || program[0] == "-c") return {};
  std::error_code error;
  const fs::file_status status = fs::status(program[0], error);
  if (!fs::exists(status)) return Status::error(program[0] + ": no such file");
  if (fs::is_directory(status) && !fs::exists(program[0] + "/__main__.py")) {
    return Status::error(program[0] + ": a folder without __main__.py");
  }
  return {};
}

class Fields {
 public:
  void add(std::string_view key, std::string_view value) {
    if (!text_.empty()) text_ += kFieldSeparator;
    text_.append(key).append("=").append(value);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// `samples_itself`: in the mode `sample`, the program and not this command.
Result<std::string> describe(const RunArguments& options, const std::string& folder,
                             bool samples_itself) {
  Fields fields;
  fields.add("command", std::to_string(::getpid()));
  fields.add("folder", fs::absolute(folder).string());
  fields.add("mode", options.mode);
  if (samples_itself) {
    fields.add("hz", std::to_string(options.hz));
    if (!options.wants_inside()) {
      fields.add("sampler_note",
                 "this system lets no process read its children: the program sampled itself");
    }
  }
  fields.add("c_calls", options.c_calls ? "1" : "0");
  fields.add("torch", options.no_torch ? "0" : "1");
  fields.add("shapes", options.shapes ? "1" : "0");
  fields.add("memory", options.no_memory ? "0" : "1");
  fields.add("sampling", std::to_string(options.sampling));
  if (!options.min_duration.empty()) {
    const Result<int64_t> ns = parse_duration_ns(options.min_duration);
    if (!ns) return Status::error("--min-duration " + ns.status().message());
    fields.add("min_duration_ns", std::to_string(*ns));
  }
  if (!options.max_size.empty()) {
    const Result<uint64_t> bytes = parse_bytes(options.max_size);
    if (!bytes) return Status::error("--max-size " + bytes.status().message());
    fields.add("max_file_bytes", std::to_string(*bytes));
  }
  for (const std::string& pattern : options.only) fields.add("only", pattern);
  for (const std::string& pattern : options.exclude) fields.add("exclude", pattern);
  if (!options.threads.empty()) fields.add("threads", options.threads);
  if (!options.steps.empty()) fields.add("steps", options.steps);
  if (!options.no_tensorflow) fields.add("frameworks", "tensorflow");
  if (!options.no_jax) fields.add("frameworks", "jax");
  const Result<int64_t> window_ns = parse_duration_ns(options.window);
  if (!window_ns) return Status::error("--window " + window_ns.status().message());
  if (*window_ns <= 0) return Status::error("--window " + options.window + ": must be more than 0");
  fields.add("window_ns", std::to_string(*window_ns));
  if (options.epochs > 0) fields.add("epochs", std::to_string(options.epochs));
  return fields.text();
}

std::vector<std::string> make_environment(const std::string& start_folder,
                                          const std::string& wanted) {
  std::vector<std::string> environment;
  std::string python_path = "PYTHONPATH=" + start_folder;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("STEPSCOPE_RUN=") || text.starts_with("STEPSCOPE_PYTHON=")) continue;
    if (text.starts_with("PYTHONPATH=")) {
      if (const auto own = text.substr(std::string_view("PYTHONPATH=").size()); !own.empty()) {
        python_path += ":" + std::string(own);
      }
      continue;
    }
    environment.emplace_back(text);
  }
  environment.push_back(python_path);
  environment.push_back("STEPSCOPE_RUN=" + wanted);
  return environment;
}

// Of the run that the environment names, as Azure ML does.
std::string mlflow_url() {
  const char* run = std::getenv("MLFLOW_RUN_ID");
  return std::string("mlflow://") + (run == nullptr ? "" : run) + "/profiler_results";
}

int run(const RunArguments& options, const Program& program, const std::string& command) {
  if (Status status = check_program(program); !status) return print_fault(status);
  const auto python = find_python(options.python, command);
  if (!python) return print_fault(python.status());
  const auto start_folder = find_start_folder();
  if (!start_folder) return print_fault(start_folder.status());
  const std::string folder =
      options.folder.empty() ? make_run_folder_name(name_of(program)) : options.folder;
  const bool wants_looks = options.is_sampled() || !options.no_lines;
  const bool is_read_from_here = wants_looks && !options.wants_inside() && may_read_children();
  const auto wanted = describe(options, folder, options.is_sampled() && !is_read_from_here);
  if (!wanted) return print_usage_error(kRunCommand, wanted.status().message());
  if (Status status = prepare_run_folder(folder, options.overwrite); !status)
    return print_fault(status);

  Program arguments = program;
  arguments.insert(arguments.begin(), *python);
  std::optional<ChildSampler> sampler;
  std::function<void(pid_t)> on_start;
  if (is_read_from_here) {
    if (options.is_sampled()) {
      sampler.emplace(folder + "/samples.sscope", options.hz);
    } else {
      sampler.emplace(folder + "/lines.sscope", kLinesHz, ChildSampler::Beside::kCalls);
    }
    on_start = [&](pid_t child) { sampler->start(child); };
  }
  const auto status = run_child(arguments, make_environment(*start_folder, *wanted), on_start);
  if (sampler) {
    const Status sampled = sampler->stop();
    if (!sampled && options.is_sampled()) print_remark(sampled.message());
  }
  if (!status) return print_fault(status.status());
  if (!options.quiet) print_run_report(folder);
  if (!options.upload.empty()) upload_run(folder, options.upload, *python);
  if (options.mlflow) upload_run(folder, mlflow_url(), *python);
  return exit_as(*status);
}

std::string check_steps(const std::string& text) {
  const auto is_number = [](std::string_view word) {
    return !word.empty() && word.find_first_not_of("0123456789") == word.npos;
  };
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == ',')
      words.emplace_back();
    else
      words.back() += c;
  }
  const bool is_right =
      (words.size() == 1 || words.size() == 3 || words.size() == 4) &&
      std::all_of(words.begin(), words.end(), is_number) &&
      words[words.size() == 1 ? 0 : 2].find_first_not_of('0') != std::string::npos;
  return is_right ? "" : "'" + text + "': expected WAIT,WARMUP,ACTIVE,REPEAT, as in 10,2,5,1";
}

// What one mode has and the other has not; "" where all fits.
std::string check_mode(const CLI::App& command, const RunArguments& options) {
  constexpr std::array kOfTrace = {"--c-calls",   "--min-duration", "--only",
                                   "--exclude",   "--threads",      "--shapes",
                                   "--no-memory", "--sampling",     "--no-lines"};
  constexpr std::array kOfSample = {"--hz", "--inside"};
  const auto check = [&](const auto& names, const char* mode) -> std::string {
    for (const char* name : names) {
      if (command.count(name) > 0) return std::string(name) + ": only with --mode " + mode;
    }
    return "";
  };
  return options.is_sampled() ? check(kOfTrace, "trace") : check(kOfSample, kSample);
}

}  // namespace

void add_run(CLI::App& app, Action& action, const std::string& called_as) {
  const auto options = std::make_shared<RunArguments>();
  CLI::App* command = app.add_subcommand(kRunCommand, "Run a Python program and record it");
  command->description(kRunDescription);
  command->prefix_command();
  command
      ->add_option("--mode", options->mode,
                   "trace: every call (if not given). sample: stacks, many times a second")
      ->check(CLI::IsMember({"trace", kSample}))
      ->type_name("trace|sample");
  command->add_option("--hz", options->hz, "Looks a second of --mode sample (100); at most 10000")
      ->check(CLI::Range(1, 10000))
      ->type_name("N");
  command->add_flag("--inside", options->inside,
                    "Let a thread of the program take the samples; done by itself where a process "
                    "may not read its children, and with --steps and --epochs");
  command
      ->add_option("-o,--output", options->folder,
                   "The run's folder; if not given, a new one in outputs/profiler_results")
      ->type_name("DIR");
  command->add_flag("--overwrite", options->overwrite, "Remove the run that DIR holds");
  command->add_flag("--c-calls", options->c_calls,
                    "Record C functions as well; on Python 3.11 this costs several times more");
  command
      ->add_option("--min-duration", options->min_duration,
                   "Leave out calls shorter than this (10us, 1ms); they are counted")
      ->type_name("TIME");
  command
      ->add_option("--only", options->only,
                   "Only functions of these files, folders or names (globs), or `mine`: what is "
                   "neither Python's nor an installed package's; may be given several times")
      ->allow_extra_args(false)
      ->type_name("PATTERN");
  command
      ->add_option("--exclude", options->exclude,
                   "Not these; what they do counts for their callers")
      ->allow_extra_args(false)
      ->type_name("PATTERN");
  command
      ->add_option("--threads", options->threads,
                   "Only threads whose name fits this glob, as in MainThread")
      ->type_name("PATTERN");
  command
      ->add_option("--max-size", options->max_size,
                   "Keep the newest so many bytes (200MB, 1GB) of each process")
      ->type_name("SIZE");
  command
      ->add_option(
          "--steps", options->steps,
          "Record only these training steps: skip WAIT, then warm up for WARMUP, then "
          "record ACTIVE; all that REPEAT times (0: on and on; 1 if not given). A step ends "
          "with stepscope.step(); steps of Keras, tf.data and tf.function are found")
      ->check(check_steps)
      ->type_name("WAIT,WARMUP,ACTIVE,REPEAT");
  command->add_option("--epochs", options->epochs, "Record only the first N epochs")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command->add_flag("--no-lines", options->no_lines,
                    "Do not look, 50 times a second, which lines take the time");
  command->add_flag("--no-torch", options->no_torch, "Do not record the operators of PyTorch");
  command->add_flag("--shapes", options->shapes,
                    "Record what operators are called with; twice the cost of operators");
  command->add_flag("--no-memory", options->no_memory, "Do not record PyTorch's allocations");
  command
      ->add_option("--sampling", options->sampling,
                   "Record operators in this share of the time (0.02), at that share of the cost; "
                   "tables are scaled up")
      ->check(CLI::Range(0.0001, 1.0))
      ->type_name("SHARE");
  command->add_flag("--no-tensorflow", options->no_tensorflow,
                    "Do not run the profiler of TensorFlow");
  command->add_flag("--no-jax", options->no_jax, "Do not run the profiler of JAX");
  command
      ->add_option("--window", options->window,
                   "TensorFlow, JAX: how long their profilers run after the first training step "
                   "where --steps is not given (5s); for 8 steps at least")
      ->type_name("TIME");
  command
      ->add_option("--python", options->python,
                   "The interpreter; if not given, the one beside this command, else the active "
                   "environment's")
      ->type_name("PATH");
  command
      ->add_option("--upload", options->upload,
                   "Send the run there at the end: abfs://container/job, or whatever fsspec knows. "
                   "What can not be sent stays in DIR; the exit code is the program's")
      ->type_name("URL");
  command->add_flag("--mlflow", options->mlflow,
                    "Make it artifacts of the MLflow run that the environment names "
                    "(MLFLOW_RUN_ID), as Azure ML does");
  command->add_flag("-q,--quiet", options->quiet, "Print nothing of our own at the end");
  command->footer(
      "SCRIPT may be a folder or a zip file with __main__.py. What follows SCRIPT, MODULE or CODE\n"
      "is the program's own.");
  command->callback([options, command, &app, called_as, &action] {
    const std::string fault = check_mode(*command, *options);
    Program program = app.remaining(true);  // what follows "--" is left to the parent
    if (!program.empty() && program[0] == "--") program.erase(program.begin());
    action = [options, program, called_as, fault] {
      if (!fault.empty()) return print_usage_error(kRunCommand, fault);
      if (program.empty()) return print_usage_error(kRunCommand, "what is to be run?");
      const bool takes_value = program[0] == "-m" || program[0] == "-c";
      if (takes_value && program.size() < 2) {
        return print_usage_error(kRunCommand, program[0] + ": a value is missing");
      }
      return run(*options, program, called_as);
    };
  });
}

}  // namespace stepscope::cli
