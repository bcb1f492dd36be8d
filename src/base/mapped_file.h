// MappedFile: the bytes of a file, read-only: mapped where the file can be mapped, else read into
// memory (pipes, files of /proc, file systems without mmap).
//
//   auto file = MappedFile::open("run/1234.sscope");
//   if (!file) return file.status();
//   auto reader = format::BlockReader::open(file->bytes());
//
// The length is taken once, at open: what a live recording appends later is not seen. A file that
// another process *shortens* while it is mapped raises SIGBUS on access to the lost pages, as with
// every mmap; where that may happen, open with Access::kCopy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace stepscope {

class MappedFile {
 public:
  enum class Access { kMap, kCopy };

  // Fails with "<path>: <why>": no such file, no permission, is a directory, read error.
  static Result<MappedFile> open(const std::string& path, Access access = Access::kMap);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const uint8_t> bytes() const;
  bool is_mapped() const { return mapping_ != nullptr; }

 private:
  MappedFile() = default;

  void* mapping_ = nullptr;
  size_t mapped_bytes_ = 0;
  std::vector<uint8_t> copy_;
};

}  // namespace stepscope
