#include "export/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "export/callgrind.h"
#include "export/chrome_json.h"
#include "export/collapsed.h"
#include "export/critical_overlay.h"
#include "export/flamegraph.h"
#include "export/megengine_static.h"
#include "export/megengine_timeline.h"
#include "export/memory_flow.h"
#include "export/memory_timeline_html.h"
#include "export/memory_timeline_json.h"
#include "export/output_file.h"
#include "export/pprof.h"
#include "export/prof.h"
#include "export/speedscope.h"
#include "export/sscope.h"
#include "export/timeline_svg.h"

namespace stepscope {
namespace {

using LeftOut = std::vector<std::string>;

Result<LeftOut> write_json(const Trace& trace, ChromeJsonLayout layout, const std::string& path) {
  auto out = OutputFile::create(path);
  if (!out) return out.status();
  write_chrome_json(trace, layout, **out);
  if (Status status = (*out)->finish(); !status) return status;
  LeftOut left_out;
  if (const size_t edges = trace.call_edges().caller.size(); edges != 0) {
    left_out.push_back(fmt::format("{} call edges: a JSON trace has no place for them", edges));
  }
  return left_out;
}

Result<LeftOut> write_chrome(const Trace& trace, const std::string& path) {
  return write_json(trace, ChromeJsonLayout::kChrome, path);
}

Result<LeftOut> write_kineto(const Trace& trace, const std::string& path) {
  return write_json(trace, ChromeJsonLayout::kKineto, path);
}

Result<LeftOut> write_sscope(const Trace& trace, const std::string& path) {
  if (Status status = write_sscope_file(trace, path); !status) return status;
  return LeftOut{};
}

// For formats that hold everything, or nothing that there is a choice of.
template <Result<LeftOut> (*kWrite)(const Trace&, const std::string&)>
Result<LeftOut> write_without_options(const Trace& trace, const std::string& path,
                                      const ExportOptions&) {
  return kWrite(trace, path);
}

Result<LeftOut> write_prof(const Trace& trace, const std::string& path,
                           const ExportOptions& options) {
  if (Status status = write_prof_file(trace, path, options); !status) return status;
  LeftOut left_out;
  if (trace.slices().size() != 0) left_out.push_back("the timeline: a .prof holds sums only");
  return left_out;
}

// A longer suffix comes before one that it ends with.
constexpr std::array kFormats = {
    ExportFormat{"sscope", ".sscope", "Stepscope's own: smallest, opens fastest", false,
                 write_without_options<write_sscope>},
    ExportFormat{"kineto", ".pt.trace.json", "PyTorch's layout: TensorBoard, HTA, Perfetto", true,
                 write_without_options<write_kineto>},
    ExportFormat{"speedscope", ".speedscope.json", "speedscope's JSON, a profile per thread", true,
                 write_speedscope},
    ExportFormat{"prof", ".prof", "cProfile's: pstats, snakeviz, gprof2dot, flameprof", false,
                 write_prof},
    ExportFormat{"memory-json", "memory_timeline.json",
                 "memory by category, as torch's export_memory_timeline", true,
                 write_without_options<write_memory_timeline_json>},
    ExportFormat{"memory-html", "memory_timeline.html",
                 "a picture of memory by category, for any browser", false,
                 write_without_options<write_memory_timeline_html>},
    ExportFormat{"critical-path", "critical_path.json", "the critical path, drawn over the trace",
                 true, write_critical_overlay},
    ExportFormat{"megengine", "chrome_timeline.json", "MegEngine's timeline, for Perfetto", true,
                 write_without_options<write_megengine_timeline>},
    ExportFormat{"megengine-static", "megengine.json", "operators as MegEngine's static profile",
                 true, write_without_options<write_megengine_static>},
    ExportFormat{"chrome", ".json", "Chrome trace events: Perfetto, chrome://tracing", true,
                 write_without_options<write_chrome>},
    ExportFormat{"timeline", "timeline.svg", "a picture of the timeline, for any browser", false,
                 write_without_options<write_timeline_svg>},
    ExportFormat{"memory-flow", "memory_flow.svg",
                 "a picture of memory by time and address, as MegEngine's", false,
                 write_without_options<write_memory_flow>},
    ExportFormat{"flamegraph", ".svg", "a flame graph for any browser: zoom, search", false,
                 write_flamegraph},
    ExportFormat{"collapsed", ".collapsed .folded", "folded stacks: flamegraph.pl, inferno", true,
                 write_collapsed},
    ExportFormat{"callgrind", ".callgrind callgrind.out.*", "KCachegrind, gprof2dot", true,
                 write_callgrind},
    ExportFormat{"pprof", ".pb.gz .pprof", "pprof's profile.proto: go tool pprof", false,
                 write_pprof},
};

std::string_view without_compression(std::string_view path) {
  for (const std::string_view suffix : {".gz", ".zst"}) {
    if (path.ends_with(suffix)) return path.substr(0, path.size() - suffix.size());
  }
  return path;
}

bool matches(std::string_view path, std::string_view name_or_suffix) {
  if (!name_or_suffix.ends_with('*')) return path.ends_with(name_or_suffix);
  name_or_suffix.remove_suffix(1);
  return path.substr(path.rfind('/') + 1).starts_with(name_or_suffix);  // npos + 1 is 0
}

// Whether the test takes one of the format's suffixes.
template <typename Test>
bool any_suffix(const ExportFormat& format, Test&& takes) {
  std::string_view names = format.suffix;
  while (!names.empty()) {
    const size_t end = std::min(names.find(' '), names.size());
    if (takes(names.substr(0, end))) return true;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

bool matches(std::string_view path, const ExportFormat& format) {
  return any_suffix(format, [&](std::string_view suffix) {
    return matches(path, suffix) ||
           (format.can_compress && matches(without_compression(path), suffix));
  });
}

// "flamegraph", and also "flamegraph.svg" or "speedscope.json": what a file might be called.
bool is_named(const ExportFormat& format, std::string_view name) {
  return format.name == name || any_suffix(format, [&](std::string_view suffix) {
           return name == std::string(format.name) + std::string(suffix) || name == suffix ||
                  (suffix.starts_with('.') && name == suffix.substr(1));
         });
}

}  // namespace

std::span<const ExportFormat> export_formats() { return kFormats; }

const ExportFormat* find_export_format(std::string_view name) {
  const auto at = std::find_if(kFormats.begin(), kFormats.end(),
                               [&](const ExportFormat& format) { return is_named(format, name); });
  return at == kFormats.end() ? nullptr : &*at;
}

const ExportFormat* find_export_format_of_path(std::string_view path) {
  const auto at = std::find_if(kFormats.begin(), kFormats.end(),
                               [&](const ExportFormat& format) { return matches(path, format); });
  return at == kFormats.end() ? nullptr : &*at;
}

std::string find_export_suffix(std::string_view name) {
  const std::string as_it_is = fmt::format(".{}", name);
  for (const ExportFormat& format : kFormats) {
    if (format.name != name) continue;
    const std::string_view suffix = format.suffix.substr(0, format.suffix.find(' '));
    return suffix.starts_with('.') ? std::string(suffix) : fmt::format(".{}", suffix);
  }
  return find_export_format_of_path(as_it_is) != nullptr ? as_it_is : "";
}

}  // namespace stepscope
