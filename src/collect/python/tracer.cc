#include "collect/python/tracer.h"

#include <Python.h>

#include <utility>

#include "base/tick_clock.h"
#include "collect/python/call_writer.h"
#include "collect/python/code_labels.h"
#include "collect/python/hooks.h"
#include "collect/python/open_marks.h"
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
  return options.c_calls && !options.marks_only ? kProfileHook : kFrameHook;
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
  CodeLabels::Options code{CodeFilter(options.code), options.own_folder, options.marks_only};
  if (Status status = CodeLabels::start(std::move(code), on_new_code); !status) return status;
  TracedThread::start(options.threads);
  g_long_calls_only = options.min_duration_ns > 0;
  if (g_long_calls_only) {
    const double ticks_per_ns = static_cast<double>(measure_ticks_per_second()) / 1e9;
    LongCalls::set_min_ticks(
        static_cast<uint64_t>(static_cast<double>(options.min_duration_ns) * ticks_per_ns));
  }
  const CallHook& hook = choose_hook(options);
  const HookOptions hook_options{options.c_calls && !options.marks_only, g_long_calls_only,
                                 options.from_main, options.marks_only};
  if (Status status = hook.install(hook_options); !status) return status;
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

Status mark_code(PyObject* code, CodeMark mark) {
  auto* code_object = reinterpret_cast<PyCodeObject*>(code);
  if (Status status = CodeLabels::mark(code_object, std::move(mark)); !status) return status;
  if (!is_tracing() || g_hook->on_new_mark == nullptr) return {};
  return g_hook->on_new_mark(code_object);
}

void write_open_calls() {
  if (is_tracing() && g_long_calls_only) LongCalls::write_open();
}

void continue_tracer_in_child() {
  if (!is_tracing() || !Recorder::is_recording()) return;
  name_thread_in_child();
  if (g_long_calls_only) return LongCalls::continue_in_child();
  size_t open_mark = 0;
  for (const PyCodeObject* code : find_codes(PyEval_GetFrame())) {
    const CodeLabels::Entry entry = CodeLabels::find(code);
    if (entry.label != 0) EveryCall::begin(entry.label);
    if (entry.mark == CodeLabels::Mark::kMarked) OpenMarks::begin_again<EveryCall>(code, open_mark);
  }
}

}  // namespace stepscope
