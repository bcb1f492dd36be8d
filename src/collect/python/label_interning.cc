#include "collect/python/label_interning.h"

#include <unistd.h>

#include "collect/recorder/recorder.h"

namespace stepscope {

uint32_t intern_label(std::string_view name, std::string_view category, uint8_t kind) {
  constexpr int kTries = 100;
  constexpr useconds_t kPauseUs = 200;
  static bool is_worth_waiting = true;
  for (int i = 0;; ++i) {
    const uint32_t label = Recorder::definitions().label(name, category, kind);
    if (label != 0 || !is_worth_waiting || i == kTries) {
      is_worth_waiting = label != 0;
      return label;
    }
    ::usleep(kPauseUs);
  }
}

}  // namespace stepscope
