// KinetoIds: the numbers by which readers of Kineto's JSON tell events apart, made up for a
// recording, which has none. All come from the row of a slice, so that they lead back to it.
//
//   | event                    | ids                                                             |
//   |--------------------------|-----------------------------------------------------------------|
//   | operator, scope          | External id, Ev Idx                                             |
//   | call of Python           | Python id, and Python parent id: the call that made it          |
//   | call of a module         | also Python module id: counted for each class, as Kineto does   |
//
// Python's ids are there for the modules, and left out with them: they double a file's size.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trace/trace.h"

namespace stepscope {

class KinetoIds {
 public:
  explicit KinetoIds(const Trace& trace);

  bool has_ids(SliceKind kind) const {
    return kind == SliceKind::kOperator || kind == SliceKind::kAnnotation ||
           kind == SliceKind::kStep || (kind == SliceKind::kPython && has_modules_);
  }
  static uint32_t external_id(uint32_t row) { return row + 1; }

  struct PythonIds {
    uint32_t id;
    uint32_t parent_id;  // 0: none
    int64_t module_id;   // -1: no module
  };
  // Nothing where the slice is no call of Python.
  std::optional<PythonIds> find_python_ids(uint32_t row);

 private:
  bool is_python(uint32_t row) const;
  uint32_t find_python_above(uint32_t row);

  const Trace& trace_;
  // By row: the row + 1 of the call of Python around it. As far as was asked.
  std::vector<uint32_t> python_above_;
  std::vector<int64_t> module_id_;  // by label
  bool has_modules_ = false;
};

}  // namespace stepscope
