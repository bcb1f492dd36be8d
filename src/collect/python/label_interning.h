// The id of a label that is asked for once: per function, per module.
#pragma once

#include <cstdint>
#include <string_view>

namespace stepscope {

// The table of names may be full for a moment, until the drain has written it: without its name a
// function would be lost from the counts, so this waits. A drain that cannot write (a full disk) is
// waited for once, not at each call. 0: no room still; ask again.
uint32_t intern_label(std::string_view name, std::string_view category, uint8_t kind);

}  // namespace stepscope
