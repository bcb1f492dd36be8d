// PythonProcess: the interpreter in a process: which binary it is, its version, its layout, and
// where its state lies. Found from outside, in another container too; nothing of the process is
// touched.
//
//   auto python = PythonProcess::find(pid);
//   if (!python) return python.status();     // "process 12 (bash): not a Python program"
//   python->memory().read(python->runtime() + …);
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "collect/sample/process_memory.h"
#include "collect/sample/python_layout.h"

namespace stepscope::sample {

class PythonProcess {
 public:
  static Result<PythonProcess> find(pid_t pid);

  pid_t pid() const { return memory_.pid(); }
  const ProcessMemory& memory() const { return memory_; }
  const PythonLayout& layout() const { return layout_; }
  uint64_t runtime() const { return runtime_; }          // the address of _PyRuntime
  uint64_t code_type() const { return code_type_; }      // of PyCode_Type; 0: not known
  const std::string& binary() const { return binary_; }  // as the process sees it
  // When the process began, in ticks since boot: another process of the same number is not it.
  uint64_t start_ticks() const { return start_ticks_; }
  // Still that process, and alive.
  bool is_there() const;

 private:
  PythonProcess(ProcessMemory memory, const PythonLayout& layout)
      : memory_(std::move(memory)), layout_(layout) {}

  ProcessMemory memory_;
  PythonLayout layout_;
  uint64_t runtime_ = 0;
  uint64_t code_type_ = 0;
  uint64_t start_ticks_ = 0;
  std::string binary_;
};

// "python train.py --epochs 3", cut to a line's length; the process's short name where it has no
// arguments; empty where it is gone.
std::string read_command_line(pid_t pid);
// Children, and theirs, in order of their pids' birth; not the process itself.
std::vector<pid_t> find_descendants(pid_t pid);

}  // namespace stepscope::sample
