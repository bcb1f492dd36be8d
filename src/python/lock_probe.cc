#include "python/lock_probe.h"

#include <Python.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

#include "collect/sample/python_layout.h"
#include "collect/system/counter_probe.h"

extern "C" char _PyRuntime[];  // its head says where things are (python_layout.h)

namespace stepscope {
namespace {

// Where the lock is: in the runtime, or where the interpreter points to. Set before the probe is.
const char* g_lock = nullptr;
const std::atomic<const char*>* g_pointer_to_lock = nullptr;
uint32_t g_locked_at = 0;

double read_lock() {
  const char* lock = g_lock != nullptr ? g_lock : g_pointer_to_lock->load();
  if (lock == nullptr) return NAN;  // the interpreter is gone
  const int32_t locked = reinterpret_cast<const std::atomic<int32_t>*>(lock + g_locked_at)->load();
  return locked == 1 ? 1 : 0;
}

std::optional<sample::PythonLayout> find_own_layout() {
  const sample::PythonVersion version = {PY_MAJOR_VERSION, PY_MINOR_VERSION};
  if (const sample::PythonLayout* known = sample::find_layout(version)) return *known;
  const auto* bytes = reinterpret_cast<const uint8_t*>(_PyRuntime);
  const auto read =
      sample::read_debug_offsets(version, std::span(bytes, sample::kDebugOffsetsBytes));
  return read ? std::optional(*read) : std::nullopt;
}

}  // namespace

void watch_global_lock() {
  static constexpr CounterProbe kProbe = {"global lock", "held", "fraction", &read_lock};
  if (counter_probe() == &kProbe) return;
  const auto layout = find_own_layout();
  if (!layout) return;
  g_locked_at = layout->gil.locked;
  if (layout->runtime.gil != sample::kNowhere) {
    g_lock = _PyRuntime + layout->runtime.gil;
  } else {
    const char* interpreter = reinterpret_cast<const char*>(PyInterpreterState_Main());
    g_pointer_to_lock =
        reinterpret_cast<const std::atomic<const char*>*>(interpreter + layout->interpreter.gil);
  }
  set_counter_probe(&kProbe);
}

}  // namespace stepscope
