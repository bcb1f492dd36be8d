// The formats that a trace can be written in. A new one is a file in this folder and a line in
// export.cc.
//
//   const ExportFormat* format = find_export_format_of_path("run.pt.trace.json.gz");   // kineto
//   Result<std::vector<std::string>> left_out = format->write(trace, "run.pt.trace.json.gz");
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "export/export_options.h"
#include "trace/trace.h"

namespace stepscope {

struct ExportFormat {
  std::string_view name;  // as in `convert --to`
  // Of the file's name, before .gz or .zst; several are separated by a space. "callgrind.out.*" is
  // how the name begins.
  std::string_view suffix;
  std::string_view summary;  // one line for --help
  bool can_compress;         // takes .gz and .zst after the suffix
  // "-" is standard output. The file is whole or not there at all. Gives a sentence for each thing
  // in the trace that the format has no place for.
  Result<std::vector<std::string>> write(const Trace& trace, const std::string& path,
                                         const ExportOptions& options = {}) const {
    return write_file(trace, path, options);
  }
  Result<std::vector<std::string>> (*write_file)(const Trace& trace, const std::string& path,
                                                 const ExportOptions& options);
};

std::span<const ExportFormat> export_formats();
// By its name, or by what its files are called: "flamegraph", "flamegraph.svg", "svg".
const ExportFormat* find_export_format(std::string_view name);
const ExportFormat* find_export_format_of_path(std::string_view path);
// What a file's name has to end in for a format that is called so: ".speedscope.json" for
// "speedscope", ".memory_flow.svg.gz" for "memory_flow.svg.gz"; "" where none is.
std::string find_export_suffix(std::string_view name);

}  // namespace stepscope
