// A program that has stopped another one, as a debugger does, until it is gone.
//
//   const auto tracer = hold(program.pid());
//   ASSERT_EQ(tracer->read_line(), "held");
#pragma once

#include <unistd.h>

#include <memory>

#include "collect/sample/program_for_tests.h"
#include "collect/sample/thread_pause.h"

namespace stepscope::sample {

inline std::unique_ptr<ProgramForTests> hold(pid_t pid) {
  return std::make_unique<ProgramForTests>([pid](int output) {
    ThreadPause pause(pid);
    if (!pause.pause().ok() || ::write(output, "held\n", 5) != 5) return 1;
    ::pause();
    return 0;
  });
}

}  // namespace stepscope::sample
