// stepscope verify: whether a change made a program faster.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "advise/advise.h"
#include "advise/finding_text.h"
#include "analyze/step_spans.h"
#include "cli/commands.h"
#include "cli/load_trace.h"
#include "cli/paired_times.h"
#include "cli/shell_quote.h"
#include "cli/terminal.h"

extern char** environ;

namespace stepscope::cli {
namespace {

constexpr const char* kVerifyCommand = "verify";

constexpr const char* kVerifyDescription = R"(Find out whether a change made a program faster.

Runs two commands in turns, without any profiler, and says which is faster, by how much, and how
certain that is.

Examples:
  stepscope verify -- python train.py --- python train.py --workers 2
  stepscope verify --runs 15 -- ./old --- ./new
  stepscope verify --finding outputs/run:dataloader-in-process -- python a.py --- python b.py)";

using Command = std::vector<std::string>;

struct VerifyArguments {
  int runs = 7;
  bool no_warm_up = false;
  std::string finding;  // RUN:ID
};

// What the finding predicts, of the whole program.
struct Prediction {
  std::string id;
  double of_step = 0;   // less, of the time of a step
  double of_whole = 0;  // less, of the time of the run
  double steps_share = 1;
};

Result<Prediction> read_prediction(const std::string& finding) {
  const size_t colon = finding.rfind(':');
  if (colon == finding.npos || colon == 0) {
    return Status::error("--finding " + finding + ": write RUN:ID");
  }
  const auto run = find_trace(finding.substr(0, colon));
  if (!run) return run.status();
  const auto trace = load_trace(*run);
  if (!trace) return trace.status();
  Prediction prediction;
  prediction.id = finding.substr(colon + 1);
  const auto advice = Advice::of(*trace);
  std::string known;
  for (const Finding& candidate : advice->findings) {
    known += (known.empty() ? "" : ", ") + candidate.id;
    if (candidate.id != prediction.id) continue;
    prediction.of_step = candidate.at_stake_fraction;
    const Interval steps = StepSpans::of(*trace)->window();
    const auto span_ns = static_cast<double>(trace->end_ns() - trace->begin_ns());
    if (steps.end_ns > steps.begin_ns && span_ns > 0) {
      prediction.steps_share = static_cast<double>(steps.end_ns - steps.begin_ns) / span_ns;
    }
    prediction.of_whole = prediction.of_step * prediction.steps_share;
    return prediction;
  }
  return Status::error(finding.substr(0, colon) + ": no finding '" + prediction.id +
                       "'; there are: " + (known.empty() ? "none" : known));
}

std::string join(const Command& command) {
  std::string text;
  for (const std::string& word : command) text += (text.empty() ? "" : " ") + shell_quote(word);
  return text;
}

// What a program prints goes into a file that is shown where it fails.
class Output {
 public:
  Output() : file_(std::tmpfile()) {}
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output() {
    if (file_ != nullptr) std::fclose(file_);
  }
  int descriptor() const { return file_ == nullptr ? -1 : ::fileno(file_); }
  std::string last_line() const {
    if (file_ == nullptr) return {};
    std::array<char, 4096> text{};
    const off_t end = ::lseek(descriptor(), 0, SEEK_END);
    const off_t from = std::max<off_t>(0, end - static_cast<off_t>(text.size()));
    const ssize_t bytes = ::pread(descriptor(), text.data(), text.size(), from);
    std::string tail(text.data(), static_cast<size_t>(std::max<ssize_t>(0, bytes)));
    while (!tail.empty() && tail.back() == '\n') tail.pop_back();
    return tail.substr(tail.rfind('\n') + 1);
  }

 private:
  FILE* file_;
};

// The seconds that it took.
Result<double> time_once(const Command& command) {
  const Output output;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (output.descriptor() >= 0) {
    ::posix_spawn_file_actions_adddup2(&actions, output.descriptor(), STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, output.descriptor(), STDERR_FILENO);
  }
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t pid = 0;
  const auto begin = std::chrono::steady_clock::now();
  const int error = ::posix_spawnp(&pid, words[0], &actions, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return Status::error(command[0] + ": " + std::strerror(error));
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return took.count();
  const std::string how = WIFSIGNALED(status)
                              ? "killed by signal " + std::to_string(WTERMSIG(status))
                              : "exit code " + std::to_string(WEXITSTATUS(status));
  const std::string last = output.last_line();
  return Status::error(join(command) + ": " + how + (last.empty() ? "" : ": " + last));
}

std::string text_of_ratio(double ratio) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%.3f", ratio);
  return text.data();
}

std::string in_seconds(double seconds) { return in_time(static_cast<int64_t>(seconds * 1e9)); }

std::string describe(const PairedTimes& times) {
  const auto [low, high] = times.interval();
  std::string text = "the second takes " + text_of_ratio(times.ratio()) +
                     " of the time of the first (" + text_of_ratio(low) + " to " +
                     text_of_ratio(high) + ", " + std::to_string(times.size()) + " pairs): ";
  if (!times.is_certain()) return text + "too few pairs to be certain; --runs 6 or more";
  if (!times.is_different()) return text + "no difference can be told from the noise";
  return text + (times.ratio() < 1 ? in_percent(1 - times.ratio()) + " less"
                                   : in_percent(times.ratio() - 1) + " more");
}

void show_progress(int pair, int runs) {
  if (!is_terminal(STDERR_FILENO)) return;
  std::fprintf(stderr, "\rverify: pair %d of %d\x1b[K", pair, runs);
  std::fflush(stderr);
}

int verify(const VerifyArguments& options, const Command& first, const Command& second) {
  std::optional<Prediction> prediction;
  if (!options.finding.empty()) {
    auto read = read_prediction(options.finding);
    if (!read) return print_fault(read.status());
    prediction = *std::move(read);
  }
  PairedTimes times;
  const int warm_up = options.no_warm_up ? 0 : 1;  // what is read from the disk for the first time
  for (int pair = 0; pair < options.runs + warm_up; ++pair) {
    show_progress(pair + 1 - warm_up, options.runs);
    // Who comes first changes too: what one leaves behind is the other's luck.
    const bool is_swapped = pair % 2 != 0;
    const auto one = time_once(is_swapped ? second : first);
    if (!one) return print_fault(one.status());
    const auto other = time_once(is_swapped ? first : second);
    if (!other) return print_fault(other.status());
    if (pair >= warm_up) times.add(is_swapped ? *other : *one, is_swapped ? *one : *other);
  }
  if (is_terminal(STDERR_FILENO)) std::fputs("\r\x1b[K", stderr);
  std::string text = "first   " + in_seconds(times.first_s()) + "   " + join(first) + "\nsecond  " +
                     in_seconds(times.second_s()) + "   " + join(second) + "\n" + describe(times) +
                     "\n";
  if (prediction) {
    text += "predicted by " + prediction->id + ": " + in_percent(prediction->of_step) +
            " less of each step; steps are " + in_percent(prediction->steps_share) +
            " of that run: " + in_percent(prediction->of_whole) + " less of the whole\n";
  }
  std::fputs(text.c_str(), stdout);
  return std::fflush(stdout) == 0 ? kExitFine : kExitFault;
}

}  // namespace

void add_verify(CLI::App& app, Action& action) {
  const auto options = std::make_shared<VerifyArguments>();
  CLI::App* command =
      app.add_subcommand(kVerifyCommand, "Find out whether a change made a program faster");
  command->description(kVerifyDescription);
  command->prefix_command();
  command->add_option("--runs", options->runs, "Pairs of runs; 7 if not given")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  command->add_flag("--no-warm-up", options->no_warm_up,
                    "Count the first pair too, which reads files for the first time");
  command
      ->add_option("--finding", options->finding,
                   "RUN:ID; set what that finding of a run predicts beside it")
      ->type_name("FINDING");
  command->footer(
      "Commands are told apart by \"---\". Their output is not shown, unless one fails.");
  command->callback([options, &app, &action] {
    std::vector<std::string> words = app.remaining(true);
    if (!words.empty() && words[0] == "--") words.erase(words.begin());
    action = [options, words] {
      const auto bar = std::find(words.begin(), words.end(), "---");
      const Command first(words.begin(), bar);
      const Command second(bar == words.end() ? bar : bar + 1, words.end());
      if (first.empty() || second.empty()) {
        return print_usage_error(kVerifyCommand, "two commands are needed: -- CMD --- CMD");
      }
      return verify(*options, first, second);
    };
  });
}

}  // namespace stepscope::cli
