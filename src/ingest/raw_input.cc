#include "ingest/raw_input.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace stepscope {

std::string describe_errno(int error) {
  switch (error) {
    case ENOENT:
      return "no such file";
    case EACCES:
    case EPERM:
      return "no permission to read it";
    case EISDIR:
      return "is a directory";
    case ENOTDIR:
      return "no such file (a part of the path is not a directory)";
    default:
      return std::generic_category().message(error);
  }
}

RawInput::RawInput(int descriptor, std::string name)
    : descriptor_(descriptor), name_(std::move(name)) {
  struct stat info {};
  if (fstat(descriptor_, &info) == 0 && S_ISREG(info.st_mode)) {
    is_regular_file_ = true;
    file_bytes_ = static_cast<uint64_t>(info.st_size);
    (void)posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
  }
}

RawInput::~RawInput() {
  if (descriptor_ > STDERR_FILENO) ::close(descriptor_);
}

Result<size_t> RawInput::read_some(std::span<char> into) {
  if (descriptor_ < 0) {
    const size_t bytes = std::min<size_t>(into.size(), memory_.size() - bytes_read_);
    std::copy_n(memory_.data() + bytes_read_, bytes, into.data());
    bytes_read_ += bytes;
    return bytes;
  }
  while (true) {
    const ssize_t bytes = ::read(descriptor_, into.data(), into.size());
    if (bytes >= 0) {
      bytes_read_ += static_cast<uint64_t>(bytes);
      return static_cast<size_t>(bytes);
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) {  // a pipe that another program made non-blocking
      pollfd wait{descriptor_, POLLIN, 0};
      (void)poll(&wait, 1, -1);
      continue;
    }
    return Status::error(name_ + ": read error after " + std::to_string(bytes_read_) +
                         " bytes: " + describe_errno(errno));
  }
}

Status RawInput::buffer_at_least(size_t bytes) {
  if (end_ - begin_ >= bytes) return {};
  if (buffer_.empty()) buffer_.resize(kBufferBytes + kMaxGiveBack);
  if (begin_ > kMaxGiveBack) {
    const size_t gone = begin_ - kMaxGiveBack;
    std::memmove(buffer_.data(), buffer_.data() + gone, end_ - gone);
    end_ -= gone;
    begin_ -= gone;
  }
  while (end_ - begin_ < bytes) {
    const auto got = read_some(std::span(buffer_).subspan(end_));
    if (!got) return got.status();
    if (*got == 0) break;
    end_ += *got;
  }
  return {};
}

Result<size_t> RawInput::read(std::span<char> into) {
  const size_t from_buffer = std::min(into.size(), end_ - begin_);
  std::copy_n(buffer_.data() + begin_, from_buffer, into.data());
  begin_ += from_buffer;
  size_t filled = from_buffer;
  while (filled < into.size()) {
    const auto got = read_some(into.subspan(filled));
    if (!got) return got.status();
    if (*got == 0) break;
    filled += *got;
  }
  return filled;
}

}  // namespace stepscope
