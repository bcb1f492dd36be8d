// What a Sampler tells: processes, threads, functions and stacks when they are first seen, each
// with a number from 0 on, and samples that name them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "collect/sample/sample_file.h"

namespace stepscope::sample {

inline constexpr uint32_t kNoParent = UINT32_MAX;

struct ThreadName {
  std::string text;
  bool is_own = false;  // as the program calls it; else the system

  bool operator==(const ThreadName&) const = default;
};

class SampleSink {
 public:
  virtual ~SampleSink() = default;

  virtual void add_process(uint32_t process, pid_t pid, const std::string& command_line) = 0;
  // Again, with another name, where it has changed.
  virtual void add_thread(uint32_t thread, uint32_t process, int32_t tid,
                          const ThreadName& name) = 0;
  virtual void add_function(uint32_t function, std::string_view name, std::string_view file,
                            int32_t first_line) = 0;
  // `parent` is the stack that called, kNoParent for the outermost; `line` where it stands.
  virtual void add_stack(uint32_t stack, uint32_t parent, uint32_t function, int32_t line) = 0;
  virtual void add_sample(const Sample& sample) = 0;
  virtual void end_process(uint32_t process) = 0;
};

}  // namespace stepscope::sample
