#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace stepscope {
namespace {

constexpr size_t kReadStepBytes = size_t{1} << 20;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

Status system_error(const std::string& path) {
  return Status::error(path + ": " + std::strerror(errno));
}

// Reads to the end whatever the size that stat() told: it is zero for /proc and for pipes.
Status read_all(const Descriptor& file, const std::string& path, size_t expected_bytes,
                std::vector<uint8_t>& into) {
  size_t filled = 0;
  into.resize(expected_bytes + 1);
  while (true) {
    if (filled == into.size()) into.resize(into.size() + kReadStepBytes);
    const ssize_t got = ::read(file.number(), into.data() + filled, into.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(path);
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  into.resize(filled);
  return {};
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path, Access access) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) return system_error(path);
  struct stat info {};
  if (::fstat(file.number(), &info) != 0) return system_error(path);
  if (S_ISDIR(info.st_mode)) return Status::error(path + ": is a directory");

  MappedFile result;
  const auto size = S_ISREG(info.st_mode) ? static_cast<size_t>(info.st_size) : 0;
  if (access == Access::kMap && size > 0) {
    void* mapping = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.number(), 0);
    if (mapping != MAP_FAILED) {
      result.mapping_ = mapping;
      result.mapped_bytes_ = size;
      return result;
    }
  }
  if (Status status = read_all(file, path, size, result.copy_); !status) return status;
  return result;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      mapped_bytes_(std::exchange(other.mapped_bytes_, 0)),
      copy_(std::move(other.copy_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(copy_, other.copy_);
  return *this;
}

MappedFile::~MappedFile() {
  if (mapping_ != nullptr) ::munmap(mapping_, mapped_bytes_);
}

std::span<const uint8_t> MappedFile::bytes() const {
  if (mapping_ != nullptr) return {static_cast<const uint8_t*>(mapping_), mapped_bytes_};
  return copy_;
}

}  // namespace stepscope
