// The sampler of a program that this command has started itself: a thread here that looks at the
// program and its children all the while. A parent may read its children's memory nearly
// everywhere; where it may not, the program has to sample itself.
//
//   if (may_read_children()) ...
//   ChildSampler sampler("runs/a/samples.sscope", hz);
//   run_child(arguments, environment, [&](pid_t child) { sampler.start(child); });
//   Status status = sampler.stop();
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "collect/sample/sampler_thread.h"

namespace stepscope::cli {

// Whether this process may read the memory of those that it starts. Tried with one.
bool may_read_children();

class ChildSampler {
 public:
  enum class Beside { kNothing, kCalls };  // what the program itself records

  ChildSampler(std::string path, int64_t hz, Beside beside = Beside::kNothing)
      : path_(std::move(path)), hz_(hz), beside_(beside) {}

  void start(pid_t child);
  // What went wrong since the start; fine where it never was.
  Status stop();

 private:
  const std::string path_;
  const int64_t hz_;
  const Beside beside_;
  std::unique_ptr<sample::SamplerThread> thread_;
  Status fault_;
};

}  // namespace stepscope::cli
