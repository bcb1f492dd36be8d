// ByteSource: the bytes of a file or of standard input, in order, decompressed where they are gzip
// or zstd (found by content, not by name). All of ingest reads through it. Nothing is mapped and
// nothing is kept but one buffer, so that memory does not grow with the file, nor with what a small
// compressed file unfolds to.
//
//   auto source = ByteSource::open("trace.json.gz");
//   if (!source) return source.status();
//   if ((*source)->peek().starts_with('{')) …
//   std::vector<char> chunk(4 << 20);
//   while (true) {
//     Result<size_t> bytes = (*source)->read(chunk);
//     if (!bytes) return bytes.status();
//     if (*bytes == 0) break;
//     parse({chunk.data(), *bytes});
//   }
//   if ((*source)->truncated()) stats.note((*source)->fault());
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace stepscope {

class RawInput;
class Decompressor;

// One thread at a time.
class ByteSource {
 public:
  // "-" is standard input. Fails with "<path>: <why>": no such file, is a directory, no permission,
  // the file is empty, read error, not a byte of a compressed file can be had.
  static Result<std::unique_ptr<ByteSource>> open(const std::string& path);
  // Reads `bytes`, which must outlive it; `name` is for messages.
  static Result<std::unique_ptr<ByteSource>> from_memory(std::string_view bytes, std::string name);

  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  ~ByteSource();

  // Fills `into` whole, or less where the end comes first; 0 at the end.
  Result<size_t> read(std::span<char> into);

  // The first bytes (all of a short file), decompressed, for finding out the format. They are still
  // to be read; meaningful before the first read() only.
  std::string_view peek() const { return {peeked_.data(), peeked_.size()}; }

  // True once all that could be had of a compressed file that is cut or damaged was decoded.
  // fault() then says what is wrong, e.g. "the gzip data ends too early, at byte 1042".
  bool truncated() const { return !fault_.empty(); }
  const std::string& fault() const { return fault_; }

  const std::string& name() const { return name_; }  // the path; "standard input"
  const char* compression() const;                   // "none", "gzip", "zstd"
  bool is_seekable_file() const;                     // a regular file, with a known size

  // For progress: what was taken from the file so far, and its size (0 where unknown: pipes).
  uint64_t bytes_read_compressed() const;
  uint64_t total_bytes_compressed() const;
  uint64_t bytes_delivered() const { return bytes_delivered_; }

 private:
  ByteSource(std::string name, std::unique_ptr<RawInput> input);
  static Result<std::unique_ptr<ByteSource>> start(std::string name,
                                                   std::unique_ptr<RawInput> input);
  Result<size_t> read_on(std::span<char> into);

  std::string name_;
  std::unique_ptr<RawInput> input_;
  std::unique_ptr<Decompressor> decompressor_;  // null: plain
  std::vector<char> peeked_;
  size_t peeked_used_ = 0;
  uint64_t bytes_delivered_ = 0;
  std::string fault_;
};

}  // namespace stepscope
