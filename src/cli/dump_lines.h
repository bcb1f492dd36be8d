// DumpLines: the lines of a dump as text: indented, cut to the terminal's width, coloured where
// that is wanted. What comes from the process is to be printable() already; files and names of
// frames are made so here.
//
//   DumpLines lines({.columns = 80});
//   lines.add_title("Thread 12 main", "running", true);
//   lines.add_frame(1, frame);
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/dump.h"

namespace stepscope::cli {

class DumpLines {
 public:
  explicit DumpLines(const DumpStyle& style) : style_(style) {}

  // "title: state"; both give way where they are too long for a line.
  void add_title(std::string_view title, std::string_view state, bool is_marked);
  void add_frame(size_t level, const DumpFrame& frame);
  void add_plain(size_t level, std::string_view text);
  void add_dim(size_t level, std::string_view text);
  // "-> a sentence", on as many lines as it takes.
  void add_remark(std::string_view text);
  void add_empty() { text_ += '\n'; }
  std::string text() && { return std::move(text_); }

 private:
  size_t indent_of(size_t level) const;
  size_t room_after(size_t columns) const;
  void append_styled(std::string_view text, std::string_view style);

  DumpStyle style_;
  std::string text_;
};

// Stacks of threads and of tasks; a line that is there again and again is told by a count.
void append_frames(DumpLines& lines, size_t level, const std::vector<DumpFrame>& frames);

}  // namespace stepscope::cli
