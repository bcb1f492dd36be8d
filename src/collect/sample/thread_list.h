// The interpreters and threads of a process, and who holds the GIL. A new thread is put first in
// its interpreter's list, so that one look at the heads tells of it; one that has ended is noticed
// by whoever misses it, and the list is then walked anew.
//
//   ThreadList list(python);
//   list.append_pieces(pieces);  memory.read_all(pieces);
//   if (list.has_changed()) list.walk();
//   for (const KnownThread& thread : list.threads()) ...
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "collect/sample/python_process.h"

namespace stepscope::sample {

struct KnownThread {
  uint64_t state = 0;    // the address of its PyThreadState
  uint64_t id = 0;       // of the interpreter's own: never used twice
  uint64_t pthread = 0;  // 0: it has not begun, or has ended
  int32_t tid = 0;       // 0: not known
  uint64_t interpreter = 0;
};

class ThreadList {
 public:
  explicit ThreadList(const PythonProcess& python) : python_(python) {}

  // False where the process can not be read any more.
  bool walk();
  std::span<const KnownThread> threads() const { return threads_; }

  // The heads of the lists and the GILs, with whatever else is read.
  void append_pieces(std::vector<ProcessMemory::Piece>& pieces);
  size_t piece_count() const { return 1 + 3 * interpreters_.size(); }
  bool has_changed() const;
  // Who the thread is, by a copy of its state: until it has begun, nobody, or (before 3.12) the
  // thread that made it.
  void identify(std::span<const uint8_t> state, KnownThread& thread) const;
  // As of the last reading.
  bool holds_gil(const KnownThread& thread) const;

 private:
  struct Interpreter {
    uint64_t address = 0;
    uint64_t id = 0;
    uint64_t threads_head = 0;
    uint64_t gil = 0;
    // Copies.
    uint64_t next = 0, next_now = 0;
    uint64_t threads_head_now = 0;
    std::array<uint8_t, 24> gil_now{};
  };

  bool walk_threads(const Interpreter& interpreter);

  const PythonProcess& python_;
  uint64_t head_ = 0, head_now_ = 0;
  std::vector<Interpreter> interpreters_;
  std::vector<KnownThread> threads_;
};

}  // namespace stepscope::sample
