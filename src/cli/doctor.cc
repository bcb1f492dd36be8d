// stepscope doctor: what this build is made of, and what this machine lets it do.
#include <fmt/format.h>
#include <isa-l.h>
#include <simdjson.h>
#include <sqlite3.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include <CLI/App.hpp>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

#include "cli/commands.h"
#include "cli/find_python.h"
#include "cli/shell_quote.h"
#include "cli/terminal.h"
#include "export/output_file.h"

namespace stepscope::cli {
namespace {

constexpr const char* kDoctorDescription =
    R"(Say what this build is made of and what works on this machine.

Examples:
  stepscope doctor                    each line is "ok", or "warn" with what to do about it
  stepscope doctor > doctor.txt       to go with a bug report
  stepscope doctor --build-torch      build the collector of operators for the PyTorch that is here)";

struct DoctorArguments {
  std::string python;
  bool build_torch = false;
};

class Report {
 public:
  explicit Report(bool color) : color_(color) {}

  void ok(std::string_view what, std::string_view found) { add("ok", "\x1b[32m", what, found, ""); }
  void warn(std::string_view what, std::string_view found, std::string_view advice) {
    add("warn", "\x1b[33m", what, found, advice);
  }
  const std::string& text() const { return text_; }

 private:
  void add(std::string_view verdict, std::string_view color, std::string_view what,
           std::string_view found, std::string_view advice) {
    if (color_) text_ += color;
    text_ += fmt::format("{:<5}", verdict);
    if (color_) text_ += "\x1b[0m";
    text_ += fmt::format("{:<12} {}\n", what, found);
    if (!advice.empty()) text_ += fmt::format("{:<18}-> {}\n", "", advice);
  }

  const bool color_;
  std::string text_;
};

std::optional<std::string> read_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

// The first line that a command prints; "" where it fails. The command is one of ours, never a
// user's.
std::string run_and_read(const char* command) {
  std::FILE* pipe = popen(command, "r");
  if (pipe == nullptr) return "";
  std::array<char, 512> buffer{};
  std::string line;
  if (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) line = buffer.data();
  const bool failed = pclose(pipe) != 0;
  while (!line.empty() && line.back() == '\n') line.pop_back();
  return failed ? "" : line;
}

void add_build(Report& report) {
#if defined(__clang__)
  const std::string compiler = "clang " __clang_version__;
#else
  const std::string compiler = "gcc " __VERSION__;
#endif
#ifdef NDEBUG
  const char* kind = "optimised";
#else
  const char* kind = "debug";
#endif
  report.ok("stepscope", fmt::format("{} ({}, {}, C++{})", STEPSCOPE_VERSION, compiler, kind,
                                     __cplusplus / 100 % 100));
  const auto& simd = *simdjson::get_active_implementation();
  const std::string found = fmt::format("{} using {}", SIMDJSON_STRINGIFY(SIMDJSON_VERSION),
                                        simd.name() + " (" + simd.description() + ")");
  if (simd.name() == "fallback") {
    report.warn("simdjson", found, "no vector unit is used: loading JSON is several times slower");
  } else {
    report.ok("simdjson", found);
  }
  report.ok("libraries", fmt::format("zstd {}, ISA-L {}.{}.{}, SQLite {}, fmt {}.{}.{}",
                                     ZSTD_versionString(), ISAL_MAJOR_VERSION, ISAL_MINOR_VERSION,
                                     ISAL_PATCH_VERSION, sqlite3_libversion(), FMT_VERSION / 10000,
                                     FMT_VERSION / 100 % 100, FMT_VERSION % 100));
}

void add_machine(Report& report) {
  utsname system{};
  if (uname(&system) == 0) {
    report.ok("system", fmt::format("{} {} {}", system.sysname, system.release, system.machine));
  }
  const unsigned usable = std::thread::hardware_concurrency();
  const long pages = sysconf(_SC_PHYS_PAGES);
  const double gb = static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGE_SIZE)) / 1e9;
  report.ok("processors", fmt::format("{} usable, {:.1f} GB of memory", usable, gb));
  struct statvfs disk {};
  if (statvfs(".", &disk) == 0) {
    const double free_gb =
        static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize) / 1e9;
    const std::string found = fmt::format("{:.1f} GB free in this folder", free_gb);
    if (free_gb < 1) {
      report.warn("disk", found, "recordings and conversions may not fit: make room, or use -o");
    } else {
      report.ok("disk", found);
    }
  }
}

void add_clock(Report& report) {
  const std::string source =
      read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource")
          .value_or("unknown");
#if defined(__x86_64__)
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string line;
  bool has_constant = false;
  bool has_nonstop = false;
  while (std::getline(cpuinfo, line)) {
    if (!line.starts_with("flags")) continue;
    has_constant = line.find(" constant_tsc") != std::string::npos;
    has_nonstop = line.find(" nonstop_tsc") != std::string::npos;
    break;
  }
  const std::string found = fmt::format("{}; constant_tsc {}, nonstop_tsc {}", source,
                                        has_constant ? "yes" : "no", has_nonstop ? "yes" : "no");
  if (has_constant && has_nonstop) {
    report.ok("clock", found);
  } else {
    report.warn(
        "clock", found,
        "recording uses CLOCK_MONOTONIC instead of the TSC: each event costs a little more");
  }
#else
  report.ok("clock", source);
#endif
}

void add_attaching(Report& report) {
  if (const auto scope = read_line("/proc/sys/kernel/yama/ptrace_scope"); scope && *scope != "0") {
    report.warn("ptrace_scope", *scope,
                "attaching to a running process needs root, or: sysctl kernel.yama.ptrace_scope=0");
  } else {
    report.ok("ptrace_scope", scope ? "0" : "not restricted");
  }
  const auto paranoid = read_line("/proc/sys/kernel/perf_event_paranoid");
  if (!paranoid) {
    report.warn("perf_events", "not in this kernel", "hardware counters are not available");
  } else if (std::atoi(paranoid->c_str()) > 2 && geteuid() != 0) {
    report.warn("perf_events", "perf_event_paranoid is " + *paranoid,
                "hardware counters need: sysctl kernel.perf_event_paranoid=2");
  } else {
    report.ok("perf_events", "perf_event_paranoid is " + *paranoid);
  }
}

// The command that runs a module of our package in that interpreter.
std::string module_command(const std::string& python, const std::string& module) {
  std::string environment;
  if (const auto folder = find_start_folder()) {
    const auto packages = std::filesystem::path(*folder).parent_path().parent_path();
    environment = "PYTHONPATH=" + shell_quote(packages.string()) + "${PYTHONPATH:+:$PYTHONPATH} ";
  }
  return environment + shell_quote(python) + " -m " + module;
}

void add_torch(Report& report, const std::string& python) {
  // Asks for the version without importing: torch alone takes seconds to import.
  const std::string asked = shell_quote(python) +
                            " -c 'from importlib.metadata import version; "
                            "print(version(\"torch\"))' 2>/dev/null";
  const std::string version = run_and_read(asked.c_str());
  if (version.empty()) {
    report.warn("torch", "not installed for this Python",
                "only needed to profile PyTorch programs, not to read their traces");
    return;
  }
  const std::string collector = run_and_read(
      (module_command(python, "stepscope._build_torch") + " --find 2>/dev/null").c_str());
  if (collector.empty()) {
    report.warn("torch", version + ", no collector of its operators is built",
                "stepscope doctor --build-torch; without it torch.profiler collects");
  } else {
    report.ok("torch", version + ", collector " + collector);
  }
}

void add_python(Report& report, const Result<std::string>& python) {
  const std::string version =
      python ? run_and_read((shell_quote(*python) + " -c 'import sys; print(\"%d.%d.%d\" % "
                                                    "sys.version_info[:3])' 2>/dev/null")
                                .c_str())
             : "";
  if (version.empty()) {
    report.warn("python", "none found",
                "traces can be read without it; profiling Python programs needs it");
    return;
  }
  report.ok("python", version + " " + *python);
  add_torch(report, *python);
}

void add_terminal(Report& report) {
  const bool is_on_terminal = is_terminal(STDOUT_FILENO);
  report.ok(
      "terminal",
      fmt::format("{}; tables are {} columns wide{}",
                  is_on_terminal ? "standard output is a terminal" : "none on standard output",
                  find_output_width(), wants_color(STDOUT_FILENO) ? ", in colour" : ""));
}

int build_torch(const Result<std::string>& python) {
  if (!python) return print_fault(python.status());
  const int status = std::system(module_command(*python, "stepscope._build_torch").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : kExitFault;
}

int run(const DoctorArguments& options, const std::string& called_as) {
  const Result<std::string> python = find_python(options.python, called_as);
  if (!python && !options.python.empty()) return print_fault(python.status());
  if (options.build_torch) return build_torch(python);
  Report report(wants_color(STDOUT_FILENO));
  add_build(report);
  add_machine(report);
  add_clock(report);
  add_attaching(report);
  add_python(report, python);
  add_terminal(report);
  auto out = OutputFile::create("-");
  if (!out) return print_fault(out.status());
  (*out)->append(report.text());
  const Status status = (*out)->finish();
  return status ? kExitFine : print_fault(status);
}

}  // namespace

void add_doctor(CLI::App& app, Action& action, const std::string& called_as) {
  CLI::App* command = app.add_subcommand("doctor", "Say what works on this machine");
  command->description(kDoctorDescription);
  const auto options = std::make_shared<DoctorArguments>();
  command->add_flag("--build-torch", options->build_torch,
                    "Build the collector of PyTorch's operators, if it is not there or older than "
                    "its sources: takes a C++ compiler and half a minute");
  command
      ->add_option("--python", options->python,
                   "The interpreter to look at; if not given, the one that `run` would use")
      ->type_name("PYTHON");
  command->callback(
      [&action, options, called_as] { action = [=] { return run(*options, called_as); }; });
}

}  // namespace stepscope::cli
