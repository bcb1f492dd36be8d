// The parts of a flame graph's file that are the same in all of them: its looks, and the script
// that zooms and searches. flamegraph.cc puts the frames between them.
#pragma once

#include <string_view>

namespace stepscope::flamegraph {

// Of the picture, in px. The script knows them as well.
inline constexpr int kWidth = 1200;
inline constexpr int kMargin = 10;
inline constexpr int kTop = 64;  // of the first level
inline constexpr int kLevelHeight = 17;
inline constexpr double kCharacterWidth = 7.3;
inline constexpr int kColours = 12;

extern const std::string_view kStyle;
extern const std::string_view kScript;

}  // namespace stepscope::flamegraph
