#include "python/serve_binding.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ingest/load.h"
#include "serve/api.h"
#include "serve/page.h"
#include "serve/runs.h"
#include "trace/recording.h"

namespace nb = nanobind;

namespace stepscope {
namespace {

using serve::Api;
using serve::ApiAnswer;
using serve::ApiParameters;
using serve::Runs;

nb::bytes to_bytes(std::string_view text) { return nb::bytes(text.data(), text.size()); }

// Runs that are loaded when they are asked for, and the answers about them.
class Viewer {
 public:
  explicit Viewer(size_t max_open)
      : runs_(Runs::when_asked([](const std::string& path) { return load(path); }, max_open)),
        api_(*runs_) {}

  void add(std::string path, std::string name) {
    runs_->add_when_asked(std::move(path), std::move(name));
  }

  // Several threads may ask at once.
  nb::tuple answer(std::string path, ApiParameters parameters, std::optional<nb::bytes> body) {
    ApiAnswer answer;
    std::string text = body ? std::string(body->c_str(), body->size()) : "";
    {
      nb::gil_scoped_release release;
      answer = api_.answer({.path = std::move(path),
                            .parameters = std::move(parameters),
                            .has_body = body.has_value(),
                            .body = std::move(text),
                            .should_stop = {}});
    }
    return nb::make_tuple(answer.status, answer.type, to_bytes(answer.body));
  }

 private:
  std::unique_ptr<Runs> runs_;
  Api api_;
};

nb::list list_page_files() {
  nb::list files;
  for (const serve::PageFile& file : serve::page_files()) {
    files.append(nb::make_tuple(nb::str(file.name.data(), file.name.size()),
                                nb::str(file.type.data(), file.type.size()), to_bytes(file.text)));
  }
  return files;
}

}  // namespace

void bind_serve(nb::module_& m) {
  nb::class_<Viewer>(m, "Viewer")
      .def(nb::init<size_t>(), nb::arg("max_open"))
      .def("add", &Viewer::add, nb::arg("path"), nb::arg("name"))
      .def("answer", &Viewer::answer, nb::arg("path"), nb::arg("parameters"),
           nb::arg("body") = nb::none());
  m.def("page_files", &list_page_files);
  m.def("is_run_folder", [](const std::string& path) { return is_run_folder(path); });
}

}  // namespace stepscope
