// ByteSink: where a writer puts its bytes, a file or memory. One owner thread; no exceptions.
//
//   auto sink = FileSink::create("run/1234.sscope");
//   if (!sink) return sink.status();
//   Status status = (*sink)->append(bytes);   // "run/1234.sscope: write: No space left on device"
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace stepscope {

class ByteSink {
 public:
  virtual ~ByteSink() = default;

  // All of `bytes` at the end, or an error; after an error part of them may be there.
  virtual Status append(std::span<const uint8_t> bytes) = 0;
  // Cuts back to the first `size` bytes: how a writer takes back what append() left after an error.
  virtual Status truncate(uint64_t size) = 0;
  // The bytes written so far, all of them visible to readers of the file.
  virtual uint64_t size() const = 0;
};

class MemorySink final : public ByteSink {
 public:
  Status append(std::span<const uint8_t> bytes) override;
  Status truncate(uint64_t size) override;
  uint64_t size() const override { return bytes_.size(); }

  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

// An unbuffered file descriptor; retries what a signal interrupted. Closes the descriptor.
class FileSink final : public ByteSink {
 public:
  // A new, empty file at `path`; one that exists is emptied.
  static Result<std::unique_ptr<FileSink>> create(const std::string& path);
  // Writes at the end of the open file `descriptor`, which it takes over. `name` is for messages.
  static Result<std::unique_ptr<FileSink>> adopt(int descriptor, const std::string& name);

  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;
  ~FileSink() override;

  Status append(std::span<const uint8_t> bytes) override;
  Status truncate(uint64_t size) override;
  uint64_t size() const override { return size_; }

  // Closes the descriptor and says what the destructor could not: an error that the system reports
  // late.
  Status close();

 private:
  FileSink(int descriptor, std::string name, uint64_t size)
      : name_(std::move(name)), size_(size), descriptor_(descriptor) {}

  std::string name_;
  uint64_t size_;
  int descriptor_;
};

}  // namespace stepscope
