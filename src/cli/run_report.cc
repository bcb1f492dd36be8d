#include "cli/run_report.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "advise/advise.h"
#include "advise/all_views.h"
#include "analyze/render.h"
#include "cli/commands.h"
#include "cli/load_trace.h"
#include "cli/shell_quote.h"
#include "cli/terminal.h"
#include "trace/sample_weights.h"

namespace stepscope::cli {
namespace {

constexpr int64_t kRows = 10;

void print(const Table& table) {
  const TextStyle style{.width = is_terminal(STDERR_FILENO) ? find_output_width() : kPipeWidth,
                        .color = wants_color(STDERR_FILENO)};
  render_table(table, TableFormat::kText, style,
               [](std::string_view chunk) { std::fwrite(chunk.data(), 1, chunk.size(), stderr); });
}

// The program's own main thread, where there are others: those mostly wait.
bool has_other_threads(const Trace& trace) {
  size_t threads = 0;
  for (const Track& track : trace.tracks()) threads += track.kind == TrackKind::kThread;
  return threads > 1;
}

template <typename Is>
bool has_label(const Trace& trace, Is&& is) {
  const auto& labels = trace.labels().all();
  return std::any_of(labels.begin(), labels.end(), is);
}

bool has_operators(const Trace& trace) {
  return has_label(trace, [](const Label& l) { return l.kind == SliceKind::kOperator; });
}

// The views that have something to say of it.
const char* list_views(const Trace& trace) {
  const auto is_of = [&](std::string_view category) {
    return has_label(trace, [&](const Label& l) { return trace.string(l.category) == category; });
  };
  if (is_of("tf_data")) return "findings | input | steps | operators | functions | tree | tracks";
  if (is_of("tf_op") || is_of("xla_op"))
    return "findings | steps | operators | functions | tree | tracks";
  if (has_operators(trace)) {
    return "findings | phases | operators | modules | memory | functions | tree";
  }
  return "findings | functions | tree | callers | callees | tracks";
}

void print_overview(const Trace& trace) {
  const auto table = make_any_view(trace, "overview", {});
  std::fputs("\n", stderr);
  if (table) print(*table);
}

void print_verdict(const Trace& trace) {
  Table table("verdict");
  table.verdict = Advice::of(trace)->verdict.lines;
  std::fputs("\n", stderr);
  print(table);
}

void print_functions(const Trace& trace, const std::string& weight) {
  TableOptions options;
  options.limit = kRows;
  options.weight = weight;
  // Of samples, threads that wait take no CPU time, and all can be told together.
  const bool is_sampled = functions_are_sampled(trace);
  const bool is_wall = !is_sampled || weight == "wall";
  const std::string plain_heading = is_wall ? "functions by own time" : "functions by own CPU time";
  std::string heading = plain_heading;
  if (!is_sampled && has_other_threads(trace)) {
    options.track = "\\(MainThread\\)$";
    heading += " in the main thread";
  }
  auto table = make_any_view(trace, "functions", options);
  if (!table || table->rows() == 0) {
    options.track.clear();
    heading = plain_heading;
    table = make_any_view(trace, "functions", options);
  }
  std::fputs(("\n" + heading + ":\n").c_str(), stderr);
  if (table) print(*table);
}

}  // namespace

void print_trace_report(const Trace& trace, const std::string& weight) {
  has_operators(trace) ? print_overview(trace) : print_verdict(trace);
  print_functions(trace, weight);
}

void print_run_report(const std::string& path, const std::string& weight) {
  const auto trace = load_trace(path);
  if (!trace) {
    // A program that is no Python's, or that left before its first call.
    print_remark(trace.status().message());
    return;
  }
  print_trace_report(*trace, weight);
  const std::string run = shell_quote(path);
  print_remark("the run is in " + path);
  print_remark("look into it in the browser: stepscope view " + run);
  print_remark("more tables: stepscope report " + run + " --view " + list_views(*trace));
}

}  // namespace stepscope::cli
