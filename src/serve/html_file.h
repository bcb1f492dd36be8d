// HtmlFile: the viewer's page as one file, with the answers that it will ask for inside
// (docs/viewer.md, "One file"). Blocks are gzip in base64 in <script> elements of a type that no
// browser runs; the last of them, the index, says what is in each. Blocks are written as they come:
// only the index is kept in memory.
//
//   auto file = HtmlFile::create("run.html", "run", 20'000'000);
//   HtmlBlock block = HtmlFile::pack(R"({"kind": "labels", "run": 0})", answer.body);
//   if (!(*file)->add(block)) …                   // no room: nothing was written
//   Status status = (*file)->finish(left_out);    // "run.html: write: No space left on device"
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "export/output_file.h"

namespace stepscope::serve {

struct HtmlBlock {
  uint64_t bytes() const;  // that it takes in the file, with its place in the index

  std::string entry;  // JSON, for the index
  std::string text;   // base64
};

class HtmlFile {
 public:
  // Fails where the page is larger than that, or was not built, or the file can not be written.
  static Result<std::unique_ptr<HtmlFile>> create(const std::string& path, std::string_view title,
                                                  uint64_t max_bytes);
  static HtmlBlock pack(std::string entry, std::string_view bytes);

  HtmlFile(const HtmlFile&) = delete;
  HtmlFile& operator=(const HtmlFile&) = delete;

  // For blocks.
  uint64_t bytes_left() const { return bytes_left_; }
  bool add(const HtmlBlock& block);
  bool ok() const { return out_->ok(); }
  // `left_out`: lines that the page shows.
  Status finish(const std::vector<std::string>& left_out);

 private:
  explicit HtmlFile(std::unique_ptr<OutputFile> out) : out_(std::move(out)) {}
  void append_block(std::string_view id, std::string_view text);

  std::unique_ptr<OutputFile> out_;
  uint64_t bytes_left_ = 0;
  size_t blocks_ = 0;
  std::string index_;  // the entries, with commas
};

}  // namespace stepscope::serve
