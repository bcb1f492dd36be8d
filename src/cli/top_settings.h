// How a user wants to see a TopView. Keys change it (top_keys.h), draw_top() obeys it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cli/top_view.h"

namespace stepscope::cli {

enum class TopSort : uint8_t { kOwnNow, kTotalNow, kOwnSinceStart, kTotalSinceStart };

struct TopSettings {
  TopSort sort = TopSort::kOwnNow;
  TopWeight weight = TopWeight::kCpu;
  bool with_threads = true;
  bool with_help = false;
  bool is_paused = false;
  size_t scroll = 0;     // functions above the first one that is shown
  bool is_live = false;  // on a terminal with keys; else a snapshot, with what was seen now
  bool is_utf8 = true;
  size_t max_functions = 20;  // of a snapshot; 0: all
};

}  // namespace stepscope::cli
