#include "collect/torch/sampling_windows.h"

#include <stepscope/record.h>

#include <chrono>
#include <random>

namespace stepscope::torch {
namespace {

constexpr double kWindowMs = 2;
constexpr double kPollMs = 0.2;

}  // namespace

void SamplingWindows::start(at::CallbackHandle handle, double share) {
  handle_ = handle;
  share_ = share;
  must_stop_ = false;
  busy_threads_ = 0;
  at::disableCallback(handle_);
  thread_ = new std::thread([this] { run(); });
}

void SamplingWindows::stop() {
  {
    const std::lock_guard lock(mutex_);
    must_stop_ = true;
  }
  stopped_.notify_all();
  thread_->join();
  delete thread_;
  thread_ = nullptr;
}

void SamplingWindows::continue_in_child() {
  // The mutex may have been held, and the thread is not here: both are begun anew.
  new (&mutex_) std::mutex;
  new (&stopped_) std::condition_variable;
  is_open_ = false;
  start(handle_, share_);
}

bool SamplingWindows::sleep_ms(double milliseconds) {
  std::unique_lock lock(mutex_);
  return !stopped_.wait_for(lock, std::chrono::duration<double, std::milli>(milliseconds),
                            [this] { return must_stop_; });
}

void SamplingWindows::run() {
  pthread_setname_np(pthread_self(), "stepscope-torch");
  const Label whole("operators are sampled", "sampling", STEPSCOPE_OTHER);
  const Label window("operators are recorded", "sampling", STEPSCOPE_OTHER);
  std::minstd_rand random(std::random_device{}());
  // Gaps of chance, so that windows do not keep in step with the training loop.
  std::exponential_distribution<double> gap_ms(share_ / (kWindowMs * (1 - share_)));
  const Scope sampling(whole);
  while (sleep_ms(gap_ms(random))) {
    is_open_ = true;
    at::reenableCallback(handle_);
    {
      const Scope scope(window);
      sleep_ms(kWindowMs);
      is_open_ = false;
    }
    // What is open is recorded to its end.
    while (busy_threads_.load(std::memory_order_relaxed) > 0 && sleep_ms(kPollMs)) {
    }
    at::disableCallback(handle_);
  }
}

}  // namespace stepscope::torch
