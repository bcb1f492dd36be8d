// draw_top: a TopView as lines of text that fit a terminal. Nothing but its arguments decides what
// comes out.
//
//   const TopScreen screen = draw_top(view, settings, {.columns = 80, .rows = 24});
//   settings.scroll = screen.scroll;             // not beyond the last function
//
// From the top: what is looked at and how busy it is; processes, where there are several; functions
// by their shares; threads, in the lower third; and the keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/top_settings.h"
#include "cli/top_view.h"

namespace stepscope::cli {

enum class TopStyle : uint8_t { kPlain, kTitle, kHeading, kHot, kDim };

struct TopLine {
  std::string text;  // printable, never wider than the screen
  TopStyle style = TopStyle::kPlain;
  bool operator==(const TopLine&) const = default;
};

struct TopSize {
  size_t columns = 80;
  size_t rows = 24;  // 0: as many as it takes
  bool operator==(const TopSize&) const = default;
};

struct TopScreen {
  std::vector<TopLine> lines;  // `rows` at most
  size_t scroll = 0;
  size_t page_rows = 0;  // functions that are shown at once
};

TopScreen draw_top(const TopView& view, const TopSettings& settings, TopSize size);

}  // namespace stepscope::cli
