#include "export/output_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace stepscope {
namespace {

constexpr size_t kBufferBytes = 1 << 20;

std::string describe_errno(int error) {
  switch (error) {
    case ENOENT:
      return "no such folder";
    case EACCES:
    case EPERM:
      return "no permission to write it";
    case EISDIR:
      return "is a directory";
    default:
      return std::generic_category().message(error);
  }
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The file that a link points to, so that the link stays when the file is replaced.
std::string resolve_links(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return path;
  std::string result = resolved;
  std::free(resolved);
  return result;
}

}  // namespace

OutputFile::OutputFile(std::string path, std::string name, Compression compression)
    : path_(std::move(path)), name_(std::move(name)) {
  if (compression == Compression::kGzip || path_.ends_with(".gz")) {
    compressor_ = make_gzip_compressor();
  } else if (path_.ends_with(".zst")) {
    compressor_ = make_zstd_compressor();
  }
}

Result<std::unique_ptr<OutputFile>> OutputFile::create(const std::string& path,
                                                       Compression compression) {
  const std::string name = path == "-" ? "standard output" : path;
  std::unique_ptr<OutputFile> file(new OutputFile(path, name, compression));
  if (Status status = file->open_target(); !status) return status;
  return file;
}

Status OutputFile::open_target() {
  if (path_ == "-") {
    descriptor_ = STDOUT_FILENO;
    is_direct_ = true;
    return {};
  }
  if (path_.empty()) return Status::error("the name of the output file is empty");
  struct stat info {};
  const bool exists = stat(path_.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return Status::error(name_ + ": is a directory");
  if (exists && !S_ISREG(info.st_mode)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor_ < 0) return Status::error(name_ + ": " + describe_errno(errno));
    is_direct_ = true;
    return {};
  }
  if (exists) {
    // The folder alone decides whether a file can be replaced; a write-protected one is left alone.
    if (access(path_.c_str(), W_OK) != 0) {
      return Status::error(name_ + ": " + describe_errno(errno));
    }
    path_ = resolve_links(path_);
  }
  const mode_t mode = exists ? info.st_mode & 07777 : 0666;
  descriptor_ = ::open(folder_of(path_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
  is_unnamed_ = descriptor_ >= 0;
  if (!is_unnamed_) {  // a file system without unnamed files
    temporary_path_ = path_ + ".part-" + std::to_string(getpid());
    descriptor_ = ::open(temporary_path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode);
    if (descriptor_ < 0) {
      const int error = errno;
      temporary_path_.clear();
      return Status::error(name_ + ": " + describe_errno(error));
    }
  }
  if (exists) (void)fchmod(descriptor_, mode);
  return {};
}

OutputFile::~OutputFile() {
  if (descriptor_ > STDERR_FILENO) ::close(descriptor_);
  if (!temporary_path_.empty()) unlink(temporary_path_.c_str());
}

void OutputFile::append(std::string_view bytes) {
  if (!status_.ok()) return;
  bytes_appended_ += bytes.size();
  buffer_ += bytes;
  if (buffer_.size() >= kBufferBytes) write_buffer(false);
}

void OutputFile::write_buffer(bool is_last) {
  if (compressor_ == nullptr) {
    write_raw(buffer_);
  } else {
    std::string compressed;
    if (!compressor_->compress(buffer_, is_last, compressed)) {
      status_ = Status::error(name_ + ": compression failed");
    }
    write_raw(compressed);
  }
  buffer_.clear();
}

void OutputFile::write_raw(std::string_view bytes) {
  while (!bytes.empty() && status_.ok()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd wait{descriptor_, POLLOUT, 0};
      (void)poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      status_ = Status::error(name_ + ": write: " + std::generic_category().message(errno));
    }
  }
}

void OutputFile::flush() {
  if (status_.ok() && is_direct_) write_buffer(false);
}

Status OutputFile::finish() {
  write_buffer(true);
  if (!status_.ok()) return status_;
  if (!is_direct_) status_ = put_in_place();
  if (descriptor_ > STDERR_FILENO) {
    // Some network file systems report a full disk only now.
    if (::close(descriptor_) != 0 && status_.ok()) {
      status_ = Status::error(name_ + ": close: " + std::generic_category().message(errno));
    }
  }
  descriptor_ = -1;
  return status_;
}

Status OutputFile::put_in_place() {
  if (is_unnamed_) {
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor_);
    const std::string name = path_ + ".part-" + std::to_string(getpid());
    if (linkat(AT_FDCWD, link.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      return Status::error(name_ + ": " + describe_errno(errno));
    }
    temporary_path_ = name;
  }
  if (std::rename(temporary_path_.c_str(), path_.c_str()) != 0) {
    return Status::error(name_ + ": " + describe_errno(errno));
  }
  temporary_path_.clear();
  return {};
}

}  // namespace stepscope
