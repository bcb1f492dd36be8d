// For tests: a training loop on a host and a GPU with one stream, as Kineto would record it. Times
// are in us.
//
//   HandMadeGpuLoop loop;
//   for (int i = 0; i < 6; ++i) {
//     loop.begin_step().input(400).op("aten::mm", "sgemm", 100, 300).synchronize().end_step();
//   }
//   Trace trace = loop.made.build();
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "analyze/hand_made_trace.h"

namespace stepscope {

class HandMadeGpuLoop {
 public:
  static constexpr int64_t kLatencyUs = 5;  // from a launch to its kernel's begin

  HandMadeTrace made;
  int64_t now_us = 1000;
  int64_t stream_free_us = 0;

  HandMadeGpuLoop& begin_step() {
    step_begin_us_ = now_us;
    return *this;
  }
  HandMadeGpuLoop& end_step() {
    made.step("ProfilerStep#" + std::to_string(step_++), ns(step_begin_us_),
              ns(now_us - step_begin_us_));
    return *this;
  }
  HandMadeGpuLoop& input(int64_t dur_us, std::string_view iterator = "_SingleProcess") {
    made.annotation("enumerate(DataLoader)#" + std::string(iterator) + "DataLoaderIter.__next__",
                    ns(now_us), ns(dur_us));
    now_us += dur_us;
    return *this;
  }
  // An operator that takes host_us and launches one kernel in the middle.
  HandMadeGpuLoop& op(std::string_view name, std::string_view kernel, int64_t host_us,
                      int64_t kernel_us, SliceKind kind = SliceKind::kKernel) {
    last_op = made.op(name, ns(now_us), ns(host_us));
    const int64_t launch_us = now_us + host_us / 2;
    made.launch(ns(launch_us), ns(host_us / 4), ++correlation_);
    last_kernel = run(kernel, launch_us, kernel_us, kind);
    now_us += host_us;
    return *this;
  }
  // As a copy from pageable memory does: the call ends with it.
  HandMadeGpuLoop& copy(int64_t dur_us) {
    made.op("aten::copy_", ns(now_us), ns(copy_end_us(dur_us) - now_us + 2));
    made.launch(ns(now_us), ns(copy_end_us(dur_us) - now_us + 1), ++correlation_);
    run("Memcpy HtoD (Pageable -> Device)", now_us, dur_us, SliceKind::kMemcpy);
    now_us = stream_free_us + 2;
    return *this;
  }
  HandMadeGpuLoop& synchronize() {
    const int64_t end_us = std::max(now_us, stream_free_us) + 3;
    made.add(made.thread(), "cudaStreamSynchronize", "cuda_runtime", SliceKind::kRuntime,
             ns(now_us), ns(end_us - now_us));
    now_us = end_us;
    return *this;
  }
  HandMadeGpuLoop& host(int64_t dur_us, std::string_view name = "aten::view") {
    made.op(name, ns(now_us), ns(dur_us));
    now_us += dur_us;
    return *this;
  }
  void add_device(int64_t compute_major, int64_t memory_bytes = 0) {
    Device device;
    device.compute_major = compute_major;
    device.total_memory_bytes = memory_bytes;
    made.builder().add_device(device);
  }

  SliceRef last_op = kNoSliceRef;
  SliceRef last_kernel = kNoSliceRef;

 private:
  static int64_t ns(int64_t us) { return us * 1000; }
  int64_t copy_end_us(int64_t dur_us) const {
    return std::max(now_us + kLatencyUs, stream_free_us) + dur_us;
  }
  SliceRef run(std::string_view name, int64_t launch_us, int64_t dur_us, SliceKind kind) {
    const int64_t start_us = std::max(launch_us + kLatencyUs, stream_free_us);
    stream_free_us = start_us + dur_us;
    const TrackId stream =
        stream_ == TrackId{UINT32_MAX} ? stream_ = made.add_stream(0, 8) : stream_;
    return made.device_work(stream, name, kind, ns(start_us), ns(dur_us), correlation_);
  }

  int64_t step_ = 5;
  int64_t step_begin_us_ = 0;
  int64_t correlation_ = 0;
  TrackId stream_{UINT32_MAX};
};

}  // namespace stepscope
