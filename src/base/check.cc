#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace stepscope {

void check_failed(const char* condition, const char* why, const char* file, int line) {
  std::fprintf(stderr, "stepscope: internal error: %s (%s) at %s:%d\n", why, condition, file, line);
  std::abort();
}

}  // namespace stepscope
