// For tests: what a file has in it, and how often.
#pragma once

#include <cstddef>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace stepscope {

// The text of a file, which is removed.
inline std::string take_text(const std::string& path) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::remove(path.c_str());
  return text;
}

inline size_t count_of(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace stepscope
