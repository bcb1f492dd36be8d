// The page of the viewer: the files that `npm run build` in viewer/ gives, put into the binary by
// cmake/ViewerPage.cmake.
#pragma once

#include <span>
#include <string_view>

namespace stepscope::serve {

struct PageFile {
  std::string_view name;  // "index.html", "app.js", "app.css"
  std::string_view type;  // for Content-Type
  std::string_view text;
};

std::span<const PageFile> page_files();

}  // namespace stepscope::serve
