// What the tracer knows of the calling thread, and what it does when it meets a thread for the
// first time: learns its name, and whether it is to be recorded.
//
//   if (!TracedThread::takes([&] { open_frames(); })) return;
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <Python.h>

namespace stepscope {

// Of the tracer that runs; another one once it stops. An end that finds another one than its begin
// did is not written.
extern uint32_t g_tracer_generation;

struct TracedThread {
  uint32_t generation = 0;  // of the tracer that met it
  bool is_left_out = false;

  // A new tracer: every thread is met again. Empty: all threads are taken.
  static void start(std::string name_pattern);
  static bool takes_all();

  // Whether the calling thread is to be recorded; on_meeting() is called once where it is.
  template <typename OnMeeting>
  static bool takes(OnMeeting&& on_meeting);

  // As the one of that name.
  void meet_as(const std::string& name, bool is_of_threading);

 private:
  bool meet();
};

extern thread_local TracedThread t_traced __attribute__((tls_model("initial-exec")));

// A thread of Python's module threading begins: `thread` is its Thread object. It is met here.
void meet_new_thread(PyObject* thread);
// The calling thread is the program's first; that module need not be loaded.
void meet_main_thread();

// In a forked child the thread has a new track, which is to have its name.
void name_thread_in_child();

// The frames from `innermost` outwards, outermost first, and their code. Borrowed: they run.
std::vector<PyFrameObject*> find_frames(PyFrameObject* innermost);
std::vector<PyCodeObject*> find_codes(PyFrameObject* innermost);

// Whether a frame without a caller is the program's own, and none that the interpreter's start
// needs.
bool begins_program(const PyCodeObject* code);

template <typename OnMeeting>
bool TracedThread::takes(OnMeeting&& on_meeting) {
  if (t_traced.generation != g_tracer_generation) [[unlikely]] {
    if (t_traced.meet()) on_meeting();
  }
  return !t_traced.is_left_out;
}

}  // namespace stepscope
