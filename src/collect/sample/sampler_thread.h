// SamplerThread: a Sampler on a thread of its own, which writes what it sees into a file until it
// is stopped. Of a child that has only just been started, or of the process that it is in itself:
// it takes no lock of Python's, gets no signals of the program's, and is not sampled.
//
//   auto sampling = SamplerThread::start({.pid = child, .open_file = open}, {.with_children =
//   true});
//   ...
//   Status status = (*sampling)->stop();      // the file is whole
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/byte_sink.h"
#include "base/status.h"
#include "collect/sample/sampler.h"

namespace stepscope::sample {

struct SamplerTarget {
  pid_t pid = 0;
  // Called first of all on the thread, which alone uses what it gives.
  std::function<Result<std::unique_ptr<ByteSink>>()> open_file;
  std::string note;  // a sentence for the user, kept in the file; "" for none
};

class SamplerThread {
 public:
  // Waits until the file is there. A process that can not be sampled yet is tried again: it may
  // have to become Python first.
  static Result<std::unique_ptr<SamplerThread>> start(SamplerTarget target,
                                                      const SamplerOptions& options);
  SamplerThread(const SamplerThread&) = delete;
  SamplerThread& operator=(const SamplerThread&) = delete;
  ~SamplerThread();

  // Says what went wrong since the start. Once.
  Status stop();

 private:
  SamplerThread(SamplerTarget target, const SamplerOptions& options)
      : target_(std::move(target)), options_(options) {}

  void run();
  Status sample(ByteSink& sink);
  // Whether it could be added before it was to stop.
  bool add_target(Sampler& sampler);
  void set_opened(Status status);

  const SamplerTarget target_;
  const SamplerOptions options_;
  std::thread thread_;
  std::atomic<bool> must_stop_{false};
  std::mutex mutex_;
  std::condition_variable opened_;
  bool is_open_ = false;
  Status outcome_;
};

}  // namespace stepscope::sample
