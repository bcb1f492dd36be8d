// SamplingWindows: lets operators be recorded for two milliseconds now and then, at moments of
// chance, and switches PyTorch's callbacks off in between, so that they then cost nothing. A window
// ends for each thread when its outermost operator does: what is recorded is recorded with all that
// is in it.
//
// Slices of the category "sampling", on a thread of their own, tell of the windows, and one around
// them of the whole: the share of it that the windows cover is what counts and times are divided
// by.
#pragma once

#include <ATen/record_function.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace stepscope::torch {

class SamplingWindows {
 public:
  void start(at::CallbackHandle handle, double share);
  void stop();
  void continue_in_child();

  // In the callbacks. Whether the operator is to be recorded.
  bool begin(bool is_outermost) {
    if (!is_outermost) return true;
    if (!is_open_.load(std::memory_order_relaxed)) return false;
    busy_threads_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  // A thread's outermost one has ended.
  void end() { busy_threads_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  void run();
  bool sleep_ms(double milliseconds);  // whether to go on

  at::CallbackHandle handle_ = at::INVALID_CALLBACK_HANDLE;
  double share_ = 1;
  std::atomic<bool> is_open_{false};
  std::atomic<int> busy_threads_{0};
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool must_stop_ = false;
  // Not joined when the process ends without stop(): it then ends with it.
  std::thread* thread_ = nullptr;
};

}  // namespace stepscope::torch
