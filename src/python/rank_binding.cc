#include "python/rank_binding.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "advise/rank_reader.h"
#include "ingest/trace_paths.h"
#include "python/trace_fault.h"

namespace nb = nanobind;

namespace stepscope {
namespace {

nb::bytes summarize(const std::string& path, const std::string& source, int64_t world_size) {
  std::vector<uint8_t> bytes;
  {
    nb::gil_scoped_release release;
    SummaryOptions options;
    options.source = source;
    options.world_size = world_size;
    const Result<RankSummary> summary = read_rank(path, options);
    if (!summary) throw TraceFault(summary.status().message());
    bytes = encode_summary(*summary);
  }
  return nb::bytes(bytes.data(), bytes.size());
}

std::vector<std::string> list_rank_files(const std::string& path) {
  auto files = find_rank_files(path);
  if (!files) throw TraceFault(files.status().message());
  return *std::move(files);
}

}  // namespace

void bind_ranks(nb::module_& m) {
  m.def("summarize_rank", &summarize, nb::arg("path"), nb::arg("source"),
        nb::arg("world_size") = 0);
  m.def("rank_files", &list_rank_files, nb::arg("path"));
  m.def(
      "has_trace_name", [](const std::string& name) { return has_trace_name(name); },
      nb::arg("name"));
}

}  // namespace stepscope
