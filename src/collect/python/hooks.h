// The ways in which an interpreter tells of calls; tracer.cc takes the one that fits. All with the
// GIL held.
#pragma once

#include <Python.h>

#include "base/status.h"

namespace stepscope {

struct HookOptions {
  bool c_calls = false;
  bool long_calls_only = false;  // LongCalls instead of EveryCall
  bool from_main = false;
  bool marks_only = false;
};

struct CallHook {
  Status (*install)(const HookOptions& options);
  // Says what another tool has done to it.
  Status (*remove)();
  // Code was marked while the hook is installed. Null: nothing is to be done.
  Status (*on_new_mark)(PyCodeObject* code) = nullptr;
};

#if PY_VERSION_HEX >= 0x030C0000
extern const CallHook kMonitoringHook;
#else
extern const CallHook kFrameHook;    // without C calls
extern const CallHook kProfileHook;  // with C calls
#endif

}  // namespace stepscope
