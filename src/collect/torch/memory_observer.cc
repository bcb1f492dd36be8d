#include "collect/torch/memory_observer.h"

#include <c10/util/ThreadLocalDebugInfo.h>
#include <stepscope/record.h>
#include <torch/csrc/profiler/orchestration/observer.h>

#include <atomic>
#include <memory>

namespace stepscope::torch {
namespace {

using ::torch::profiler::impl::ActiveProfilerType;
using ::torch::profiler::impl::ProfilerConfig;
using ::torch::profiler::impl::ProfilerState;
using ::torch::profiler::impl::ProfilerStateBase;

std::atomic<MemoryDetail> g_detail{MemoryDetail::kNone};
std::atomic<int64_t> g_host_bytes{0};
std::atomic<int64_t> g_device_bytes{0};

// PyTorch takes whatever is in the slot for a profiler's state, and asks it: so it is one, which
// says that it is off.
class Reporter final : public ProfilerStateBase {
 public:
  Reporter() : ProfilerStateBase(ProfilerConfig(ProfilerState::Disabled, false, true)) {}

  void reportMemoryUsage(void* address, int64_t bytes, size_t allocated_bytes,
                         size_t reserved_bytes, c10::Device device) override {
    const MemoryDetail detail = g_detail.load(std::memory_order_relaxed);
    if (detail == MemoryDetail::kNone) return;
    auto& total = device.is_cpu() ? g_host_bytes : g_device_bytes;
    total.store(static_cast<int64_t>(allocated_bytes), std::memory_order_relaxed);
    if (detail != MemoryDetail::kEach) return;
    current_table()->memory(reinterpret_cast<uintptr_t>(address), bytes,
                            static_cast<int32_t>(device.type()), device.index(),
                            static_cast<int64_t>(allocated_bytes),
                            static_cast<int64_t>(reserved_bytes));
  }

  bool memoryProfilingEnabled() const override {
    return g_detail.load(std::memory_order_relaxed) != MemoryDetail::kNone;
  }
  ActiveProfilerType profilerType() override { return ActiveProfilerType::NONE; }
};

thread_local bool t_has_slot = false;

}  // namespace

bool MemoryObserver::is_free() {
  return c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE) == nullptr;
}

void MemoryObserver::start(MemoryDetail detail) {
  g_detail = detail;
  c10::ThreadLocalDebugInfo::_push(c10::DebugInfoKind::PROFILER_STATE,
                                   std::make_shared<Reporter>());
  t_has_slot = true;
}

void MemoryObserver::stop() {
  g_detail = MemoryDetail::kNone;
  if (t_has_slot) c10::ThreadLocalDebugInfo::_pop(c10::DebugInfoKind::PROFILER_STATE);
  t_has_slot = false;
}

void MemoryObserver::write_counters() {
  static const Counter host("memory of tensors, host", "bytes");
  static const Counter device("memory of tensors, device", "bytes");
  host.set_int(g_host_bytes.load(std::memory_order_relaxed));
  const int64_t device_bytes = g_device_bytes.load(std::memory_order_relaxed);
  if (device_bytes > 0) device.set_int(device_bytes);
}

}  // namespace stepscope::torch
