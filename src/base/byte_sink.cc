#include "base/byte_sink.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace stepscope {
namespace {

Status system_error(const std::string& name, const char* what) {
  return Status::error(name + ": " + what + ": " + std::strerror(errno));
}

}  // namespace

Status MemorySink::append(std::span<const uint8_t> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return {};
}

Status MemorySink::truncate(uint64_t size) {
  if (size < bytes_.size()) bytes_.resize(static_cast<size_t>(size));
  return {};
}

Result<std::unique_ptr<FileSink>> FileSink::create(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return system_error(path, "create");
  return std::unique_ptr<FileSink>(new FileSink(descriptor, path, 0));
}

Result<std::unique_ptr<FileSink>> FileSink::adopt(int descriptor, const std::string& name) {
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) return system_error(name, "stat");
  const uint64_t size = S_ISREG(info.st_mode) ? static_cast<uint64_t>(info.st_size) : 0;
  if (S_ISREG(info.st_mode) && ::lseek(descriptor, 0, SEEK_END) < 0) {
    return system_error(name, "seek");
  }
  return std::unique_ptr<FileSink>(new FileSink(descriptor, name, size));
}

FileSink::~FileSink() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status FileSink::append(std::span<const uint8_t> bytes) {
  if (descriptor_ < 0) return Status::error(name_ + ": write: the file is closed");
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return system_error(name_, "write");
    }
    size_ += static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Status FileSink::truncate(uint64_t size) {
  if (size >= size_) return {};
  const auto end = static_cast<off_t>(size);
  if (::ftruncate(descriptor_, end) != 0) return system_error(name_, "truncate");
  if (::lseek(descriptor_, end, SEEK_SET) < 0) return system_error(name_, "seek");
  size_ = size;
  return {};
}

Status FileSink::close() {
  if (descriptor_ < 0) return {};
  const int descriptor = std::exchange(descriptor_, -1);
  if (::close(descriptor) != 0 && errno != EINTR) return system_error(name_, "close");
  return {};
}

}  // namespace stepscope
