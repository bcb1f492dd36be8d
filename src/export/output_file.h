// OutputFile: where exports and reports are written. Compressed where the name says so (.gz, .zst),
// and whole or not at all: the bytes go to a temporary file beside the target, which takes the
// target's name when all is written. A path that is no regular file (a pipe, /dev/stdout) is
// written directly; "-" is standard output.
//
//   auto out = OutputFile::create("trace.json.gz");
//   if (!out) return out.status();
//   (*out)->append("{\"traceEvents\":[");    // an error is kept until finish()
//   return (*out)->finish();                 // "trace.json.gz: write: No space left on device"
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace stepscope {

class Compressor;

enum class Compression {
  kByName,  // .gz, .zst; else none
  kGzip,
};

class OutputFile {
 public:
  // Fails with "<path>: <why>": no such folder, no permission, is a directory.
  static Result<std::unique_ptr<OutputFile>> create(const std::string& path,
                                                    Compression compression = Compression::kByName);

  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();  // without finish(): nothing is left behind

  void append(std::string_view bytes);
  // False after an error: a writer may then stop early. finish() says what it was.
  bool ok() const { return status_.ok(); }
  Status finish();
  // Lets readers of a pipe or a terminal have what was appended so far; an error waits for
  // finish().
  void flush();

  uint64_t bytes_appended() const { return bytes_appended_; }

 private:
  OutputFile(std::string path, std::string name, Compression compression);
  Status open_target();
  void write_buffer(bool is_last);
  void write_raw(std::string_view bytes);
  Status put_in_place();

  std::string path_;            // links resolved; "-" for standard output
  std::string name_;            // for messages
  std::string temporary_path_;  // "" where written directly, or where the file has no name yet
  int descriptor_ = -1;
  bool is_direct_ = false;   // written to the target itself
  bool is_unnamed_ = false;  // O_TMPFILE: gone by itself unless it is given a name
  std::unique_ptr<Compressor> compressor_;
  std::string buffer_;
  uint64_t bytes_appended_ = 0;
  Status status_;
};

// Compresses a stream of bytes as it goes by.
class Compressor {
 public:
  virtual ~Compressor() = default;
  // Appends what `bytes` become to `out`; everything that is left where is_last. False: it failed.
  virtual bool compress(std::string_view bytes, bool is_last, std::string& out) = 0;
};

std::unique_ptr<Compressor> make_gzip_compressor();
std::unique_ptr<Compressor> make_zstd_compressor();

}  // namespace stepscope
