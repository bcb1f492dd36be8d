#include "collect/sample/process_memory.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace stepscope::sample {
namespace {

constexpr size_t kPiecesPerCall = 1024;  // the kernel's UIO_MAXIOV

std::string name_of(pid_t pid) { return "process " + std::to_string(pid); }

Status explain(pid_t pid, int error) {
  if (error == ESRCH) return Status::error(name_of(pid) + ": it has ended");
  if (error == EPERM || error == EACCES) {
    return Status::error(
        name_of(pid) +
        ": no permission to read its memory; run this as root or with CAP_SYS_PTRACE, in a "
        "container with --cap-add SYS_PTRACE, or start the program with `stepscope run --mode "
        "sample`, which needs no rights");
  }
  return Status::error(name_of(pid) + ": its memory can not be read: " + std::strerror(error));
}

}  // namespace

Result<ProcessMemory> ProcessMemory::open(pid_t pid, uint64_t address) {
  ProcessMemory memory;
  memory.pid_ = pid;
  uint8_t byte = 0;
  const Piece piece{address, 1, &byte};
  if (memory.read_by_call({&piece, 1}) == 1) return memory;
  const int error = errno;
  // Old container runtimes forbid the call and not the file.
  if (error == EPERM || error == ENOSYS) {
    const std::string path = "/proc/" + std::to_string(pid) + "/mem";
    memory.file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (memory.file_ >= 0 && memory.read_by_file({&piece, 1}) == 1) return memory;
  }
  return explain(pid, error);
}

ProcessMemory::ProcessMemory(ProcessMemory&& other) noexcept
    : pid_(other.pid_), file_(std::exchange(other.file_, -1)) {}

ProcessMemory& ProcessMemory::operator=(ProcessMemory&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(file_, other.file_);
  return *this;
}

ProcessMemory::~ProcessMemory() {
  if (file_ >= 0) ::close(file_);
}

bool ProcessMemory::read(uint64_t address, std::span<uint8_t> to) const {
  const Piece piece{address, to.size(), to.data()};
  return read_all({&piece, 1}) == 1;
}

size_t ProcessMemory::read_all(std::span<const Piece> pieces) const {
  return file_ >= 0 ? read_by_file(pieces) : read_by_call(pieces);
}

size_t ProcessMemory::read_by_call(std::span<const Piece> pieces) const {
  std::array<iovec, kPiecesPerCall> local;
  std::array<iovec, kPiecesPerCall> remote;
  size_t whole = 0;
  while (whole < pieces.size()) {
    const size_t count = std::min(pieces.size() - whole, kPiecesPerCall);
    for (size_t i = 0; i < count; ++i) {
      const Piece& piece = pieces[whole + i];
      local[i] = {piece.to, piece.bytes};
      remote[i] = {reinterpret_cast<void*>(piece.address), piece.bytes};  // NOLINT: not ours
    }
    const ssize_t got = ::process_vm_readv(pid_, local.data(), count, remote.data(), count, 0);
    if (got < 0) return whole;
    auto left = static_cast<size_t>(got);
    const size_t end = whole + count;
    while (whole < end && left >= pieces[whole].bytes) left -= pieces[whole++].bytes;
    if (whole < end) {
      errno = EFAULT;
      return whole;
    }
  }
  return whole;
}

size_t ProcessMemory::read_by_file(std::span<const Piece> pieces) const {
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    const ssize_t got = ::pread(file_, piece.to, piece.bytes, static_cast<off_t>(piece.address));
    if (got < 0 || static_cast<size_t>(got) != piece.bytes) return i;
  }
  return pieces.size();
}

}  // namespace stepscope::sample
