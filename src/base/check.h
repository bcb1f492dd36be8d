// CHECK(cond, "why"): for what cannot happen. On in release builds. Nothing read from a file may
// reach one (the fuzzers prove it); input at fault is a Status, see status.h.
#pragma once

namespace stepscope {

[[noreturn]] void check_failed(const char* condition, const char* why, const char* file, int line);

}  // namespace stepscope

#define CHECK(condition, why)                                         \
  do {                                                                \
    if (!(condition)) [[unlikely]]                                    \
      ::stepscope::check_failed(#condition, why, __FILE__, __LINE__); \
  } while (false)
