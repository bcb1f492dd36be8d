#include "cli/run_report.h"

#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "analyze/render.h"
#include "analyze/views.h"
#include "cli/commands.h"
#include "cli/load_trace.h"
#include "cli/terminal.h"

namespace stepscope::cli {
namespace {

constexpr int64_t kRows = 10;

void print(const Table& table) {
  const TextStyle style{.width = is_terminal(STDERR_FILENO) ? find_output_width() : kPipeWidth,
                        .color = wants_color(STDERR_FILENO)};
  render_table(table, TableFormat::kText, style,
               [](std::string_view chunk) { std::fwrite(chunk.data(), 1, chunk.size(), stderr); });
}

// As a shell takes it for one word.
std::string quote(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,@+";
  if (!text.empty() && text.find_first_not_of(kPlain) == text.npos) return text;
  std::string quoted = "'";
  for (const char c : text) c == '\'' ? quoted += "'\\''" : quoted += c;
  return quoted + "'";
}

// The program's own main thread, where there are others: those mostly wait.
bool has_other_threads(const Trace& trace) {
  size_t threads = 0;
  for (const Track& track : trace.tracks()) threads += track.kind == TrackKind::kThread;
  return threads > 1;
}

}  // namespace

void print_run_report(const std::string& folder) {
  const auto trace = load_trace(folder);
  if (!trace) {
    // A program that is no Python's, or that left before its first call.
    print_remark(trace.status().message());
    return;
  }
  TableOptions options;
  options.limit = kRows;
  std::string heading = "functions by own time";
  if (has_other_threads(*trace)) {
    options.track = "\\(MainThread\\)$";
    heading += " in the main thread";
  }
  auto table = make_view(*trace, "functions", options);
  if (!table || table->rows() == 0) {
    options.track.clear();
    heading = "functions by own time";
    table = make_view(*trace, "functions", options);
  }
  std::fputs(("\n" + heading + ":\n").c_str(), stderr);
  if (table) print(*table);
  const std::string more = "stepscope report " + quote(folder) + " --view ";
  print_remark("the run is in " + folder);
  print_remark("more: " + more + "functions | tree | callers | callees | tracks");
}

}  // namespace stepscope::cli
