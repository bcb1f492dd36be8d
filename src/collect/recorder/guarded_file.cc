#include "collect/recorder/guarded_file.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace stepscope {
namespace {

constexpr unsigned kCloseRangeUnshare = 2;  // CLOSE_RANGE_UNSHARE, Linux 5.9
constexpr long kCloseRange = 436;           // SYS_close_range, the same on all architectures

}  // namespace

bool take_private_descriptors() {
  if (::syscall(kCloseRange, 0u, ~0u, kCloseRangeUnshare) != 0) return false;
  (void)::unshare(CLONE_FS);
  // The numbers of standard input, output and error: a message that some library prints on this
  // thread must not land in a file of the recording. These can be neither read nor written.
  while (true) {
    const int placeholder = ::open("/", O_PATH | O_CLOEXEC);
    if (placeholder > STDERR_FILENO) ::close(placeholder);
    if (placeholder < 0 || placeholder >= STDERR_FILENO) return true;
  }
}

Result<std::unique_ptr<GuardedFile>> GuardedFile::create(int folder_descriptor,
                                                         const std::string& folder,
                                                         const std::string& name, bool is_private,
                                                         bool* exists) {
  std::unique_ptr<GuardedFile> file(new GuardedFile);
  file->path_ = folder + "/" + name;
  file->is_private_ = is_private;
  file->descriptor_ = ::openat(is_private ? folder_descriptor : AT_FDCWD,
                               is_private ? name.c_str() : file->path_.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
  *exists = file->descriptor_ < 0 && errno == EEXIST;
  struct stat info {};
  if (file->descriptor_ < 0 || ::fstat(file->descriptor_, &info) != 0) return file->fail("create");
  file->device_ = info.st_dev;
  file->inode_ = info.st_ino;
  return file;
}

GuardedFile::~GuardedFile() {
  if (descriptor_ >= 0 && (is_private_ || is_ours())) ::close(descriptor_);
}

bool GuardedFile::is_ours() const {
  struct stat info {};
  return ::fstat(descriptor_, &info) == 0 && info.st_dev == device_ && info.st_ino == inode_;
}

Status GuardedFile::fail(const char* what) const {
  return Status::error(path_ + ": " + what + ": " + std::strerror(errno));
}

Status GuardedFile::check() {
  if (is_private_ || is_ours()) return {};
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor_ < 0) return fail("open again");
  if (is_ours()) return {};
  ::close(descriptor_);
  descriptor_ = -1;
  return Status::error(path_ + ": is another file by now");
}

Status GuardedFile::append(std::span<const uint8_t> bytes) {
  if (Status status = check(); !status) return status;
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail("write");
    size_ += static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Status GuardedFile::truncate(uint64_t size) {
  if (size >= size_) return {};
  if (Status status = check(); !status) return status;
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) return fail("truncate");
  size_ = size;
  return {};
}

bool GuardedFile::has_name() const {
  struct stat info {};
  return ::fstat(descriptor_, &info) == 0 && info.st_nlink > 0;
}

}  // namespace stepscope
