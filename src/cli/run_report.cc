#include "cli/run_report.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
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
  const auto table = make_view(*trace, "functions", options);
  std::fputs("\n", stderr);
  if (table) print(*table);
  print_remark("the run is in " + folder + "; more: stepscope report " + folder + " --view tree");
}

}  // namespace stepscope::cli
