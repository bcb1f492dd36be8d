// The parts of a memory timeline's page that are the same in all of them: its looks, and the script
// that shows the figures under the pointer. memory_timeline_html.cc puts the pictures between them.
#pragma once

#include <string_view>

namespace stepscope::memory_page {

// Of a picture, in px. The script takes them from the page.
inline constexpr int kWidth = 1000;
inline constexpr int kHeight = 360;
inline constexpr int kLeft = 80;  // of the curve: room for the scale
inline constexpr int kRight = 10;
inline constexpr int kTop = 20;
inline constexpr int kBottom = 30;

extern const std::string_view kStyle;
extern const std::string_view kScript;

}  // namespace stepscope::memory_page
