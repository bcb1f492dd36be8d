// The threads of a process as the kernel has them. In a container a program's own numbers of its
// threads are not those that are seen from outside.
//
//   for (const KernelThread& thread : read_kernel_threads(pid)) thread.tid …
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace stepscope::sample {

struct KernelThread {
  int32_t tid = 0;
  int32_t own_tid = 0;  // as the program itself has it
  std::string name;     // of at most 15 letters: the program's, where it gave none
};

// In ascending order; none where the process is gone.
std::vector<KernelThread> read_kernel_threads(pid_t pid);

}  // namespace stepscope::sample
