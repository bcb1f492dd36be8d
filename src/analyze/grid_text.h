// Tables in the three forms that MegEngine's tools print them in, cell for cell: "fancy grid" for
// rows of several lines, "simple" without a head, and Org's for wikis. (Every other table of ours
// is laid out by render_text.cc.)
//
//   GridText grid({"name", "value"});
//   grid.add_row({"total device time", "0.008476"});
//   grid.org();
//
// A column whose cells are all numbers is aligned by the decimal point and printed with six digits;
// any other to the left.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace stepscope {

class GridText {
 public:
  explicit GridText(std::vector<std::string> headers) : headers_(std::move(headers)) {}

  // A cell may have several lines.
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  std::string fancy_grid() const;
  std::string simple() const;  // without the headers
  std::string org() const;

 private:
  std::vector<std::string> headers_;
  std::vector<std::vector<std::string>> rows_;
};

// Python's "{:.3}" of a float: three digits, and a point in it.
std::string python_short(double value);
// Lines of at most `width` letters, as Python's textwrap cuts them.
std::vector<std::string> wrap_text(const std::string& text, size_t width);

}  // namespace stepscope
