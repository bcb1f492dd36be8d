#include "collect/sample/sampler_thread.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <string>
#include <system_error>
#include <utility>

#include "collect/sample/sample_recording.h"

namespace stepscope::sample {
namespace {

constexpr timespec kTryAgain{0, 2'000'000};

}  // namespace

Result<std::unique_ptr<SamplerThread>> SamplerThread::start(SamplerTarget target,
                                                            const SamplerOptions& options) {
  std::unique_ptr<SamplerThread> sampling(new SamplerThread(std::move(target), options));
  // The program's signals are for its own threads.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  Status started;
  try {
    sampling->thread_ = std::thread([thread = sampling.get()] { thread->run(); });
  } catch (const std::system_error& no_thread) {
    started = Status::error(std::string("the sampler's thread: ") + no_thread.what());
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!started) return started;
  std::unique_lock lock(sampling->mutex_);
  sampling->opened_.wait(lock, [&] { return sampling->is_open_; });
  if (sampling->outcome_) return sampling;
  const Status fault = sampling->outcome_;
  lock.unlock();
  sampling->thread_.join();
  return fault;
}

SamplerThread::~SamplerThread() {
  if (thread_.joinable()) (void)stop();
}

Status SamplerThread::stop() {
  must_stop_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
  return outcome_;
}

void SamplerThread::set_opened(Status status) {
  {
    const std::lock_guard lock(mutex_);
    outcome_ = std::move(status);
    is_open_ = true;
  }
  opened_.notify_all();
}

void SamplerThread::run() {
  ::pthread_setname_np(::pthread_self(), "stepscope-sample");
  Result<std::unique_ptr<ByteSink>> sink = target_.open_file();
  if (!sink) return set_opened(sink.status());
  set_opened({});
  Status sampled = sample(**sink);
  const std::lock_guard lock(mutex_);
  outcome_ = std::move(sampled);
}

Status SamplerThread::sample(ByteSink& sink) {
  auto file = SampleFile::create(sink, describe_sampling(options_));
  if (!file) return file.status();
  if (!target_.note.empty()) (*file)->add_note(target_.note);
  SampleRecording recording(**file, options_);
  Sampler sampler(options_, recording);
  if (add_target(sampler)) {
    sampler.run(0, [&] {
      recording.set_counts(sampler.counts());
      return must_stop_.load(std::memory_order_relaxed);
    });
  }
  sampler.finish();
  return recording.close(sampler.counts());
}

bool SamplerThread::add_target(Sampler& sampler) {
  while (!sampler.add(target_.pid)) {
    if (must_stop_.load(std::memory_order_relaxed)) return false;
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &kTryAgain, nullptr);
  }
  return true;
}

}  // namespace stepscope::sample
