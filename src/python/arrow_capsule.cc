#include "python/arrow_capsule.h"

#include <utility>

#include "analyze/table_arrow.h"

namespace stepscope {
namespace {

// Whoever takes the stream out of the capsule sets its release to null.
void release(PyObject* object) {
  auto* stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(object, "arrow_array_stream"));
  if (stream->release != nullptr) stream->release(stream);
  delete stream;
}

nanobind::capsule wrap(std::unique_ptr<ArrowArrayStream> stream) {
  PyObject* object = PyCapsule_New(stream.get(), "arrow_array_stream", release);
  if (object == nullptr) {
    stream->release(stream.get());
    nanobind::raise_python_error();
  }
  stream.release();  // the capsule has it
  return nanobind::steal<nanobind::capsule>(object);
}

}  // namespace

nanobind::capsule arrow_capsule(std::shared_ptr<const Table> table) {
  auto stream = std::make_unique<ArrowArrayStream>();
  export_table(std::move(table), stream.get());
  return wrap(std::move(stream));
}

nanobind::capsule slices_arrow_capsule(std::shared_ptr<const Trace> trace) {
  auto stream = std::make_unique<ArrowArrayStream>();
  export_slices(std::move(trace), stream.get());
  return wrap(std::move(stream));
}

}  // namespace stepscope
