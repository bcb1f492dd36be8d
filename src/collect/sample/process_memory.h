// ProcessMemory: reads the memory of a process that goes on running, by process_vm_readv, or by
// /proc/PID/mem where that call is not allowed. Whatever is read may be half changed already: users
// check it.
//
//   auto memory = ProcessMemory::open(pid);
//   uint64_t head = 0;
//   if (!memory->read(address, head)) ...            // not mapped, or the process is gone
//   memory->read_all(pieces);                        // many places with one system call
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/status.h"

namespace stepscope::sample {

class ProcessMemory {
 public:
  struct Piece {
    uint64_t address;
    size_t bytes;
    uint8_t* to;
  };

  // Fails where this user may not read that process, with what to do about it. `address` is one
  // that can be read, to find that out.
  static Result<ProcessMemory> open(pid_t pid, uint64_t address);

  ProcessMemory(ProcessMemory&& other) noexcept;
  ProcessMemory& operator=(ProcessMemory&& other) noexcept;
  ProcessMemory(const ProcessMemory&) = delete;
  ProcessMemory& operator=(const ProcessMemory&) = delete;
  ~ProcessMemory();

  pid_t pid() const { return pid_; }

  // False where not all of it could be read.
  bool read(uint64_t address, std::span<uint8_t> to) const;
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  bool read(uint64_t address, T& value) const {
    return read(address, {reinterpret_cast<uint8_t*>(&value), sizeof(value)});
  }
  // In order, with as few system calls as there are 1,024 pieces. Gives how many pieces from the
  // first one on are whole.
  size_t read_all(std::span<const Piece> pieces) const;

 private:
  ProcessMemory() = default;
  size_t read_by_call(std::span<const Piece> pieces) const;
  size_t read_by_file(std::span<const Piece> pieces) const;

  pid_t pid_ = 0;
  int file_ = -1;  // of /proc/PID/mem; -1: by process_vm_readv
};

}  // namespace stepscope::sample
