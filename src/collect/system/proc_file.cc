#include "collect/system/proc_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

namespace stepscope {
namespace {

// The kernel gives out lists by the page, whole lines at a time: less than this is the end.
constexpr size_t kMaxLastPart = 2048;

std::string_view read_from_begin(int descriptor, std::span<char> buffer) {
  size_t length = 0;
  while (length < buffer.size()) {
    const ssize_t got = ::pread(descriptor, buffer.data() + length, buffer.size() - length,
                                static_cast<off_t>(length));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    length += static_cast<size_t>(got);
    if (static_cast<size_t>(got) < kMaxLastPart) break;
  }
  return {buffer.data(), length};
}

}  // namespace

OwnDescriptor::OwnDescriptor(OwnDescriptor&& other) noexcept { *this = std::move(other); }

OwnDescriptor& OwnDescriptor::operator=(OwnDescriptor&& other) noexcept {
  if (this == &other) return *this;
  close();
  descriptor_ = std::exchange(other.descriptor_, -1);
  device_ = other.device_;
  inode_ = other.inode_;
  return *this;
}

void OwnDescriptor::reset(int descriptor) {
  close();
  struct stat info {};
  if (descriptor < 0 || ::fstat(descriptor, &info) != 0) return;
  descriptor_ = descriptor;
  device_ = info.st_dev;
  inode_ = info.st_ino;
}

void OwnDescriptor::close() {
  if (is_ours()) ::close(descriptor_);
  descriptor_ = -1;
}

bool OwnDescriptor::is_ours() const {
  struct stat info {};
  return descriptor_ >= 0 && ::fstat(descriptor_, &info) == 0 && info.st_dev == device_ &&
         info.st_ino == inode_;
}

ProcFolder::ProcFolder() { folder_.reset(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC)); }

int ProcFolder::open(const char* path, int flags) {
  if (!folder_.is_ours()) folder_.reset(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (folder_.get() < 0) return -1;
  return ::openat(folder_.get(), path, flags | O_RDONLY | O_CLOEXEC);
}

std::string_view ProcFolder::read_once(const char* path, std::span<char> buffer) {
  const int descriptor = open(path, 0);
  if (descriptor < 0) return {};
  const std::string_view text = read_from_begin(descriptor, buffer);
  ::close(descriptor);
  return text;
}

// By the system call: readdir() would allocate each time.
bool ProcFolder::list_numbers(const char* path, std::span<char> buffer,
                              std::vector<int32_t>& numbers) {
  constexpr size_t kLengthAt = 16, kNameAt = 19;  // of struct linux_dirent64
  const int descriptor = open(path, O_DIRECTORY);
  if (descriptor < 0) return false;
  long got = 0;
  while ((got = ::syscall(SYS_getdents64, descriptor, buffer.data(), buffer.size())) > 0) {
    const char* const end = buffer.data() + got;
    for (const char* entry = buffer.data(); entry + kNameAt < end;) {
      uint16_t length = 0;
      std::memcpy(&length, entry + kLengthAt, sizeof length);
      if (length <= kNameAt || length > end - entry) break;
      int32_t number = 0;
      const auto [after, error] = std::from_chars(entry + kNameAt, entry + length, number);
      if (error == std::errc() && *after == '\0') numbers.push_back(number);
      entry += length;
    }
  }
  ::close(descriptor);
  return got == 0;
}

ProcFile::ProcFile(ProcFolder& folder, std::string path)
    : folder_(&folder), path_(std::move(path)) {
  file_.reset(folder_->open(path_.c_str(), 0));
}

std::string_view ProcFile::read(std::span<char> buffer) {
  if (!file_.is_ours()) {
    file_.reset(folder_->open(path_.c_str(), 0));
    if (file_.get() < 0) return {};
  }
  return read_from_begin(file_.get(), buffer);
}

}  // namespace stepscope
