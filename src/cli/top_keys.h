// TopKeys: what bytes from a terminal mean to `stepscope top`. A sequence of an arrow key may come
// in pieces; one that is not known is swallowed whole.
//
//   TopKeys keys;
//   for (TopKey key : keys.read("\x1b[")) ...     // nothing yet
//   for (TopKey key : keys.read("A1")) apply_key(key, page_rows, settings);   // kUp, kSortOwnNow
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/top_settings.h"

namespace stepscope::cli {

enum class TopKey : uint8_t {
  kSortOwnNow,
  kSortTotalNow,
  kSortOwnSinceStart,
  kSortTotalSinceStart,
  kThreads,
  kGil,
  kIdle,
  kPause,
  kReset,
  kHelp,
  kQuit,
  kSuspend,
  kRedraw,
  kUp,
  kDown,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
};

class TopKeys {
 public:
  std::vector<TopKey> read(std::string_view bytes);

 private:
  std::optional<TopKey> take(char byte);

  std::string sequence_;  // that has begun with an escape
};

// Changes the settings; kQuit, kSuspend, kRedraw and kReset are the caller's. A page is as many
// functions as are shown at once; beyond the last one draw_top() does not scroll.
void apply_key(TopKey key, size_t page_rows, TopSettings& settings);

}  // namespace stepscope::cli
