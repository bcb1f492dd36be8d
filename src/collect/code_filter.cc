#include "collect/code_filter.h"

#include <fnmatch.h>

#include <algorithm>

namespace stepscope {
namespace {

bool fits(const std::string& pattern, const char* text) {
  return ::fnmatch(pattern.c_str(), text, 0) == 0;
}

bool is_below(std::string_view file, std::string_view folder) {
  while (folder.ends_with('/')) folder.remove_suffix(1);
  return !folder.empty() && file.size() > folder.size() && file.starts_with(folder) &&
         file[folder.size()] == '/';
}

}  // namespace

bool CodeFilter::takes(std::string_view file, std::string_view function) const {
  if (takes_all()) return true;
  const std::string path(file), name(function);
  const auto fits_any = [&](const std::vector<std::string>& patterns) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const std::string& pattern) { return matches(pattern, path, name); });
  };
  if (fits_any(patterns_.exclude)) return false;
  return patterns_.only.empty() || fits_any(patterns_.only);
}

bool CodeFilter::matches(const std::string& pattern, const std::string& file,
                         const std::string& function) const {
  if (pattern == "mine") return is_mine(file);
  if (fits(pattern, function.c_str()) || fits(pattern, file.c_str())) return true;
  std::string folder = pattern;
  while (folder.ends_with('/')) folder.pop_back();
  if (folder.empty()) return false;
  folder += "/*";  // a folder stands for all in it
  if (fits(folder, file.c_str())) return true;
  for (size_t slash = file.find('/'); slash != std::string::npos;
       slash = file.find('/', slash + 1)) {
    const char* end = file.c_str() + slash + 1;
    if (fits(pattern, end) || fits(folder, end)) return true;
  }
  return false;
}

bool CodeFilter::is_mine(std::string_view file) const {
  if (file.starts_with("<frozen ")) return false;
  return std::none_of(
      patterns_.library_folders.begin(), patterns_.library_folders.end(),
      [&](const std::string& folder) { return file == folder || is_below(file, folder); });
}

}  // namespace stepscope
