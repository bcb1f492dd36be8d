// Python 3.11: a frame evaluation function (PEP 523) around the interpreter's own, or around the
// one that another tool has installed (torch.compile).
//
// It costs a tenth of what PyEval_SetProfile does, and a program without calls does not feel it at
// all. It makes every Python call a C call: see stack_switch.h.
//
// Frames that were running before it was installed return without a word. The first time that such
// a thread calls something, they are opened; whenever it calls something from one of them, those
// above it have returned.
#include <Python.h>

#if PY_VERSION_HEX < 0x030C0000

#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE

#include <algorithm>
#include <vector>

#include "collect/python/call_writer.h"
#include "collect/python/code_labels.h"
#include "collect/python/frame_argument.h"
#include "collect/python/hooks.h"
#include "collect/python/open_marks.h"
#include "collect/python/stack_switch.h"
#include "collect/python/traced_thread.h"

namespace stepscope {
namespace {

using Mark = CodeLabels::Mark;

EvalFunction g_next = _PyEval_EvalFrameDefault;
EvalFunction g_installed = nullptr;
bool g_is_below = false;                     // it could not be removed: another tool's lies over it
EvalFunction g_after_main_begins = nullptr;  // what from_main waits to install

// Frames that ran before the tracer did.
struct OpenedFrame {
  const _PyInterpreterFrame* frame;
  uint32_t label;              // 0: left out, or marked
  const PyCodeObject* marked;  // null: it is not; for its address
};
thread_local std::vector<OpenedFrame>* t_opened __attribute__((tls_model("initial-exec"))) =
    nullptr;
// Calls on this thread that went through the hook and have not returned.
thread_local uint32_t t_depth __attribute__((tls_model("initial-exec"))) = 0;

// It will raise RecursionError before its first instruction: no call has been made.
bool is_too_deep(const PyThreadState* thread) {
  return thread->recursion_remaining <= 0 && thread->recursion_headroom == 0;
}

// The slow half of the decision whether a frame is recorded.
bool takes_frame(const CodeLabels::Entry& entry, const PyThreadState* thread,
                 const _PyInterpreterFrame* frame) {
  if (is_too_deep(thread)) return false;
  switch (entry.mark) {
    case Mark::kPlain:
      return true;
    case Mark::kGenerator:  // a call only makes the generator; what is recorded is each resume
      return frame->owner == FRAME_OWNED_BY_GENERATOR;
    case Mark::kThread:
      if (frame->f_code->co_argcount > 0 && frame->localsplus[0] != nullptr) {
        meet_new_thread(frame->localsplus[0]);
      }
      return true;
    default:
      return false;
  }
}

template <typename Calls>
void begin_marked(const _PyInterpreterFrame* frame) {
  OpenMarks::begin<Calls>(frame->f_code,
                          [frame](int number) { return find_argument(frame, number); });
}

template <typename Calls>
void open_frames(const PyThreadState* thread) {
  std::vector<OpenedFrame> opened;
  for (const _PyInterpreterFrame* frame = thread->cframe->current_frame; frame != nullptr;
       frame = frame->previous) {
    const CodeLabels::Entry entry = CodeLabels::find(frame->f_code);
    const bool is_marked = entry.mark == Mark::kMarked;
    opened.push_back({frame, entry.label, is_marked ? frame->f_code : nullptr});
  }
  std::reverse(opened.begin(), opened.end());
  for (const OpenedFrame& frame : opened) {
    if (frame.label != 0) Calls::begin(frame.label);
    if (frame.marked != nullptr) begin_marked<Calls>(frame.frame);
  }
  t_depth = 0;
  delete t_opened;
  t_opened = opened.empty() ? nullptr : new std::vector<OpenedFrame>(std::move(opened));
}

// A call comes from a frame that ran before the tracer: those that it had called have returned.
template <typename Calls>
void close_returned(const _PyInterpreterFrame* caller) {
  while (!t_opened->empty() && t_opened->back().frame != caller) {
    if (t_opened->back().label != 0) Calls::end(t_opened->back().label);
    if (t_opened->back().marked != nullptr) OpenMarks::end<Calls>(t_opened->back().marked);
    t_opened->pop_back();
  }
  if (t_opened->empty()) {
    delete t_opened;
    t_opened = nullptr;
  }
}

// A frame that is left out.
template <bool kCareful>
PyObject* pass_frame(PyThreadState* thread, _PyInterpreterFrame* frame, int throws) {
  if constexpr (!kCareful) return g_next(thread, frame, throws);
  const uint32_t generation = g_tracer_generation;
  ++t_depth;
  PyObject* result = g_next(thread, frame, throws);
  if (generation == g_tracer_generation) --t_depth;
  return result;
}

bool makes_generator(const _PyInterpreterFrame* frame) {
  constexpr int kGenerators = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
  return (frame->f_code->co_flags & kGenerators) != 0 && frame->owner != FRAME_OWNED_BY_GENERATOR;
}

template <typename Calls, bool kCareful>
PyObject* trace_marked(PyThreadState* thread, _PyInterpreterFrame* frame, int throws) {
  if (is_too_deep(thread) || makes_generator(frame)) {
    return pass_frame<kCareful>(thread, frame, throws);
  }
  const uint32_t generation = g_tracer_generation;
  const PyCodeObject* code = frame->f_code;
  begin_marked<Calls>(frame);
  PyObject* result = pass_frame<kCareful>(thread, frame, throws);
  if (generation == g_tracer_generation) OpenMarks::end<Calls>(code);
  return result;
}

// kCareful: there may be frames that ran before, or threads that are not to be recorded.
template <typename Calls, bool kCareful>
inline PyObject* trace_frame(PyThreadState* thread, _PyInterpreterFrame* frame, int throws) {
  const CodeLabels::Entry entry = CodeLabels::find(frame->f_code);
  const bool is_taken = (entry.mark == Mark::kPlain && thread->recursion_remaining > 0) ||
                        takes_frame(entry, thread, frame);
  if constexpr (kCareful) {
    if (!TracedThread::takes([thread] { open_frames<Calls>(thread); })) {
      return g_next(thread, frame, throws);
    }
    if (t_opened != nullptr && t_depth == 0) close_returned<Calls>(thread->cframe->current_frame);
  }
  if (!is_taken) [[unlikely]] {
    return entry.mark == Mark::kMarked ? trace_marked<Calls, kCareful>(thread, frame, throws)
                                       : pass_frame<kCareful>(thread, frame, throws);
  }
  const uint32_t generation = g_tracer_generation;
  if constexpr (kCareful) ++t_depth;
  Calls::begin(entry.label);
  PyObject* result = g_next(thread, frame, throws);
  if (generation == g_tracer_generation) [[likely]] {
    Calls::end(entry.label);
    if constexpr (kCareful) --t_depth;
  }
  return result;
}

template <typename Calls, bool kCareful>
PyObject* trace(PyThreadState* thread, _PyInterpreterFrame* frame, int throws) {
  if (t_stack.is_short()) [[unlikely]] {
    return call_with_stack(trace_frame<Calls, kCareful>, thread, frame, throws);
  }
  return trace_frame<Calls, kCareful>(thread, frame, throws);
}

template <typename Calls>
PyObject* trace_if_marked(PyThreadState* thread, _PyInterpreterFrame* frame, int throws) {
  if (CodeLabels::find(frame->f_code).mark != Mark::kMarked || !TracedThread::takes([] {})) {
    return g_next(thread, frame, throws);
  }
  return trace_marked<Calls, false>(thread, frame, throws);
}

template <typename Calls>
PyObject* trace_marks(PyThreadState* thread, _PyInterpreterFrame* frame, int throws) {
  if (t_stack.is_short()) [[unlikely]] {
    return call_with_stack(trace_if_marked<Calls>, thread, frame, throws);
  }
  if (CodeLabels::may_be_marked(frame->f_code)) [[unlikely]] {
    return trace_if_marked<Calls>(thread, frame, throws);
  }
  return g_next(thread, frame, throws);
}

EvalFunction choose_hook(const HookOptions& options) {
  if (options.marks_only) {
    return options.long_calls_only ? trace_marks<LongCalls> : trace_marks<EveryCall>;
  }
  const bool is_careful =
      !options.from_main || !TracedThread::takes_all() || g_tracer_generation > 1;
  if (options.long_calls_only) {
    return is_careful ? trace<LongCalls, true> : trace<LongCalls, false>;
  }
  return is_careful ? trace<EveryCall, true> : trace<EveryCall, false>;
}

void set_eval_function(EvalFunction function) {
  _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), function);
}

PyObject* wait_for_main(PyThreadState* thread, _PyInterpreterFrame* frame, int throws) {
  if (g_after_main_begins != nullptr && thread->cframe->current_frame == nullptr &&
      begins_program(frame->f_code)) {
    g_installed = g_after_main_begins;
    g_after_main_begins = nullptr;
    set_eval_function(g_installed);
    meet_main_thread();
    return g_installed(thread, frame, throws);
  }
  return g_next(thread, frame, throws);
}

// The thread that starts the tracer: what it annotates next is to be within its frames.
void open_own_frames(const HookOptions& options) {
  const PyThreadState* thread = PyThreadState_Get();
  (void)TracedThread::takes([&] {
    options.long_calls_only ? open_frames<LongCalls>(thread) : open_frames<EveryCall>(thread);
  });
}

Status install(const HookOptions& options) {
  const EvalFunction current = _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get());
  if (g_is_below && current != _PyEval_EvalFrameDefault) {
    return Status::error(
        "another tool's frame evaluation function, put over ours before, is still in place");
  }
  g_is_below = false;
  g_next = current;
  const EvalFunction hook = choose_hook(options);
  g_after_main_begins = options.from_main ? hook : nullptr;
  g_installed = options.from_main ? wait_for_main : hook;
  set_eval_function(g_installed);
  if (!options.from_main && !options.marks_only) open_own_frames(options);
  return {};
}

Status remove() {
  const EvalFunction current = _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get());
  g_after_main_begins = nullptr;
  if (current != g_installed) {
    // Someone who came after us may go on calling us: nothing is recorded then.
    g_is_below = current != _PyEval_EvalFrameDefault;
    return g_is_below
               ? Status()
               : Status::error("another tool removed the hook: calls after that are missing");
  }
  set_eval_function(g_next);
  return {};
}

}  // namespace

const CallHook kFrameHook = {install, remove};

}  // namespace stepscope

#endif  // before 3.12
