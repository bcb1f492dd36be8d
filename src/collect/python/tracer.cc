#include "collect/python/tracer.h"

#include <Python.h>

#include "base/tick_clock.h"
#include "collect/python/call_writer.h"
#include "collect/python/code_labels.h"
#include "collect/python/hooks.h"
#include "collect/python/other_profilers.h"
#include "collect/python/traced_thread.h"
#include "collect/recorder/recorder.h"
#include "format/pool_layout.h"

namespace stepscope {
namespace {

const CallHook* g_hook = nullptr;  // null: not tracing
bool g_long_calls_only = false;

const CallHook& choose_hook([[maybe_unused]] const TracerOptions& options) {
#if PY_VERSION_HEX >= 0x030C0000
  return kMonitoringHook;
#else
  return options.c_calls ? kProfileHook : kFrameHook;
#endif
}

// Once per function that is called: often enough, and rare enough, to look around.
void on_new_code(const PyCodeObject* code) {
  look_for_other_profilers();
  note_if_profiler(code);
}

}  // namespace

bool is_tracing() { return g_hook != nullptr; }

Status start_tracer(const TracerOptions& options) {
  if (is_tracing()) return Status::error("Python calls are being recorded already");
  if (Status status = CodeLabels::start(CodeFilter(options.code), options.own_folder, on_new_code);
      !status) {
    return status;
  }
  TracedThread::start(options.threads);
  g_long_calls_only = options.min_duration_ns > 0;
  if (g_long_calls_only) {
    const double ticks_per_ns = static_cast<double>(measure_ticks_per_second()) / 1e9;
    LongCalls::set_min_ticks(
        static_cast<uint64_t>(static_cast<double>(options.min_duration_ns) * ticks_per_ns));
  }
  const CallHook& hook = choose_hook(options);
  if (Status status = hook.install({options.c_calls, g_long_calls_only, options.from_main});
      !status) {
    return status;
  }
  g_hook = &hook;
  look_for_running_profilers();
  return {};
}

Status stop_tracer() {
  if (!is_tracing()) return {};
  const Status status = g_hook->remove();
  g_hook = nullptr;
  ++g_tracer_generation;
  if (!g_long_calls_only) return status;
  if (const uint64_t count = LongCalls::take_left_out(); count > 0) {
    using format::ExtendedRecord;
    append_record(format::RecordKind::kExtended,
                  format::pack_extended(static_cast<uint32_t>(ExtendedRecord::kLeftOut), 1), &count,
                  1);
  }
  return status;
}

void write_open_calls() {
  if (is_tracing() && g_long_calls_only) LongCalls::write_open();
}

void continue_tracer_in_child() {
  if (!is_tracing() || !Recorder::is_recording()) return;
  name_thread_in_child();
  if (g_long_calls_only) return LongCalls::continue_in_child();
  for (const PyCodeObject* code : find_codes(PyEval_GetFrame())) {
    const uint32_t label = CodeLabels::find(code).label;
    if (label != 0) append_record(format::RecordKind::kBegin, label);
  }
}

}  // namespace stepscope
