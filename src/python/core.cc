// stepscope._core: the C++ core as Python sees it. It only converts: the package's Python files
// give it names, docstrings and types. Loading, views and SQL run without the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "advise/advise.h"
#include "advise/all_views.h"
#include "advise/what_if_table.h"
#include "analyze/render.h"
#include "analyze/sql.h"
#include "collect/python/cprofile/call_profiler.h"
#include "export/export.h"
#include "ingest/load.h"
#include "python/arrow_capsule.h"
#include "python/call_stats_binding.h"
#include "python/call_watch.h"
#include "python/exit_watch.h"
#include "python/gc_watch.h"
#include "python/import_watch.h"
#include "python/rank_binding.h"
#include "python/record_binding.h"
#include "python/sampler_binding.h"
#include "python/serve_binding.h"
#include "python/trace_fault.h"
#include "python/tracer_binding.h"
#include "trace/trace.h"

namespace nb = nanobind;

namespace stepscope {
namespace {

template <typename T>
T value_or_throw(Result<T> result) {
  if (!result) throw TraceFault(result.status().message());
  return *std::move(result);
}

std::shared_ptr<const Table> share(Result<Table> table) {
  return std::make_shared<const Table>(value_or_throw(std::move(table)));
}

// `metadata`: key and JSON text.
std::shared_ptr<const Trace> load_shared(const std::string& path, int threads,
                                         const std::map<std::string, std::string>& metadata) {
  nb::gil_scoped_release release;
  LoadOptions options;
  options.threads = threads;
  Trace trace = value_or_throw(load(path, options));
  for (const auto& [key, json] : metadata) trace.set_metadata(key, json);
  return std::make_shared<const Trace>(std::move(trace));
}

std::vector<std::string> save(const std::shared_ptr<const Trace>& trace, const std::string& path,
                              const std::string& format_name) {
  nb::gil_scoped_release release;
  const ExportFormat* format =
      format_name.empty() ? find_export_format_of_path(path) : find_export_format(format_name);
  if (format == nullptr) {
    std::string suffixes;
    for (const ExportFormat& known : export_formats()) {
      suffixes += (suffixes.empty() ? "" : ", ") + std::string(known.suffix);
    }
    throw TraceFault(path + ": no format is known by that name; end it in one of " + suffixes);
  }
  return value_or_throw(format->write(*trace, path));
}

std::string export_suffix(const std::string& format) {
  std::string suffix = find_export_suffix(format);
  if (!suffix.empty()) return suffix;
  std::string names;
  for (const ExportFormat& known : export_formats()) {
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  throw nb::value_error(("unknown format '" + format + "'; there are: " + names).c_str());
}

std::shared_ptr<const Table> make_view_of(
    const std::shared_ptr<const Trace>& trace, const std::string& name,
    std::optional<std::string> sort, int64_t limit, std::optional<std::string> filter,
    std::optional<std::pair<int64_t, int64_t>> range, std::optional<std::string> track,
    std::optional<std::string> by, std::optional<std::string> within, int depth, bool heaviest) {
  nb::gil_scoped_release release;
  TableOptions options;
  options.sort = std::move(sort).value_or("");
  options.limit = limit;
  options.filter = std::move(filter).value_or("");
  if (range) options.range = {range->first, range->second};
  options.track = std::move(track).value_or("");
  options.by = std::move(by).value_or("");
  options.within = std::move(within).value_or("");
  options.depth = depth;
  options.heaviest = heaviest;
  return share(make_any_view(*trace, name, options));
}

nb::object cell(const Column& column, size_t row) {
  if (column.is_null(row)) return nb::none();
  switch (column.type()) {
    case ColumnType::kInt:
      return nb::int_(column.get_int(row));
    case ColumnType::kBool:
      return nb::bool_(column.get_int(row) != 0);
    case ColumnType::kDouble:
      return nb::float_(column.get_double(row));
    case ColumnType::kString: {
      const std::string& text = column.get_string(row);
      return nb::steal(
          PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
    }
  }
  return nb::none();
}

nb::list column_values(const Table& table, const std::string& name) {
  const Column* column = table.find(name);
  if (column == nullptr) throw nb::key_error(name.c_str());
  nb::list values;
  for (size_t row = 0; row < column->size(); ++row) values.append(cell(*column, row));
  return values;
}

nb::dict stats_of(const Stats& stats) {
  nb::dict result;
  for (int i = 0; i < kStatCount; ++i) {
    const Stat stat = static_cast<Stat>(i);
    if (stats.get(stat) != 0) result[nb::cast(stat_name(stat))] = stats.get(stat);
  }
  return result;
}

}  // namespace
}  // namespace stepscope

NB_MODULE(_core, m) {
  using namespace stepscope;
  m.attr("__version__") = STEPSCOPE_VERSION;
  nb::exception<TraceFault>(m, "TraceError");

  nb::class_<Table>(m, "Table")
      .def_prop_ro("view", &Table::view)
      .def("__len__", &Table::rows)
      .def_prop_ro("columns",
                   [](const Table& table) {
                     std::vector<std::string> names;
                     for (const Column& column : table.columns()) names.push_back(column.name());
                     return names;
                   })
      .def_prop_ro("units",
                   [](const Table& table) {
                     std::vector<std::string> units;
                     for (const Column& column : table.columns()) {
                       units.emplace_back(unit_name(column.unit()));
                     }
                     return units;
                   })
      .def_prop_ro("rows_total", [](const Table& table) { return table.rows_before_limit; })
      .def_prop_ro("notes", [](const Table& table) { return table.notes; })
      .def_prop_ro("stats", [](const Table& table) { return stats_of(table.stats); })
      .def("column", &column_values, nb::arg("name"))
      .def("row",
           [](const Table& table, size_t row) {
             if (row >= table.rows()) throw nb::index_error();
             nb::list cells;
             for (const Column& column : table.columns()) cells.append(cell(column, row));
             return nb::tuple(cells);
           })
      .def(
          "render",
          [](const Table& table, const std::string& format, size_t width) {
            const auto known = find_table_format(format);
            if (!known) throw TraceFault("unknown format '" + format + "'");
            return render_table(table, *known, {.width = width});
          },
          nb::arg("format"), nb::arg("width") = 100)
      .def(
          "__arrow_c_stream__",
          [](std::shared_ptr<Table> table, nb::object) { return arrow_capsule(std::move(table)); },
          nb::arg("requested_schema") = nb::none());

  nb::class_<Trace>(m, "Trace")
      .def_prop_ro("source", &Trace::source)
      .def_prop_ro("format", &Trace::format)
      .def_prop_ro("begin_ns", &Trace::begin_ns)
      .def_prop_ro("end_ns", &Trace::end_ns)
      .def_prop_ro("slice_count", [](const Trace& trace) { return trace.slices().size(); })
      .def_prop_ro("stats", [](const Trace& trace) { return stats_of(trace.stats()); })
      .def_prop_ro("notes", [](const Trace& trace) { return trace.stats().notes(); })
      .def("view", &make_view_of, nb::arg("name"), nb::kw_only(), nb::arg("sort") = nb::none(),
           nb::arg("limit") = -1, nb::arg("filter") = nb::none(), nb::arg("range") = nb::none(),
           nb::arg("track") = nb::none(), nb::arg("by") = nb::none(),
           nb::arg("within") = nb::none(), nb::arg("depth") = -1, nb::arg("heaviest") = false)
      .def(
          "sql",
          [](const std::shared_ptr<const Trace>& trace, const std::string& query) {
            nb::gil_scoped_release release;
            return share(run_sql(*trace, query));
          },
          nb::arg("query"))
      .def(
          "what_if",
          [](const std::shared_ptr<const Trace>& trace, const std::vector<std::string>& requests) {
            nb::gil_scoped_release release;
            return share(what_if(*trace, requests));
          },
          nb::arg("requests"))
      .def("findings_json",
           [](const std::shared_ptr<const Trace>& trace) {
             nb::gil_scoped_release release;
             return render_findings_json(*Advice::of(*trace));
           })
      .def("slices_arrow_c_stream",
           [](std::shared_ptr<Trace> trace) { return slices_arrow_capsule(std::move(trace)); })
      .def("save", &save, nb::arg("path"), nb::arg("format") = "");

  m.def("load", &load_shared, nb::arg("path"), nb::arg("threads") = 0,
        nb::arg("metadata") = std::map<std::string, std::string>());
  m.def("export_suffix", &export_suffix, nb::arg("format"));
  m.def("views", [] {
    std::vector<std::pair<std::string, std::string>> names;
    for (const View& view : all_views()) names.emplace_back(view.name, view.summary);
    return names;
  });
  bind_call_stats(m);
  bind_serve(m);
  bind_ranks(m);
  bind_recorder(m);
  bind_tracer(m);
  bind_sampler(m);
  bind_exit_watch(m);
  bind_import_watch(m);
  bind_call_watch(m);
  bind_gc_watch(m);
  if (!cprofile::add_call_profiler(m.ptr())) throw nb::python_error();
}
