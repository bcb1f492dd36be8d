// RawInput: the bytes of a descriptor or of memory as they are, with a buffer that can be looked
// into. The lower half of ByteSource.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace stepscope {

class RawInput {
 public:
  // Takes the descriptor over unless it is standard input.
  RawInput(int descriptor, std::string name);
  explicit RawInput(std::string_view bytes) : memory_(bytes) {}
  RawInput(const RawInput&) = delete;
  RawInput& operator=(const RawInput&) = delete;
  ~RawInput();

  // Bytes in the buffer that were not consumed yet.
  std::string_view buffered() const { return {buffer_.data() + begin_, end_ - begin_}; }
  void consume(size_t bytes) { begin_ += bytes; }
  // Takes back the last bytes that were consumed: at most kMaxGiveBack, also after a refill.
  // Whether there are so many.
  bool give_back(size_t bytes) {
    if (bytes > begin_) return false;
    begin_ -= bytes;
    return true;
  }
  // Reads until `bytes` are buffered or the end has come. At most kBufferBytes.
  Status buffer_at_least(size_t bytes);
  // Reads past the buffer, into the caller's memory; what is buffered comes first.
  Result<size_t> read(std::span<char> into);

  uint64_t bytes_read() const { return bytes_read_; }
  uint64_t total_bytes() const { return memory_.data() != nullptr ? memory_.size() : file_bytes_; }
  bool is_regular_file() const { return is_regular_file_; }

  static constexpr size_t kBufferBytes = 256 << 10;
  static constexpr size_t kMaxGiveBack = 8;

 private:
  Result<size_t> read_some(std::span<char> into);

  int descriptor_ = -1;
  std::string name_;
  bool is_regular_file_ = false;
  uint64_t file_bytes_ = 0;
  std::string_view memory_;
  uint64_t bytes_read_ = 0;
  std::vector<char> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

// "no such file", "no permission to read it", …: an errno as the end of a message.
std::string describe_errno(int error);

}  // namespace stepscope
