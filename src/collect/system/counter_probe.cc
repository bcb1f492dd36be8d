#include "collect/system/counter_probe.h"

#include <atomic>

namespace stepscope {
namespace {

std::atomic<const CounterProbe*> g_probe{nullptr};

}  // namespace

void set_counter_probe(const CounterProbe* probe) {
  g_probe.store(probe, std::memory_order_release);
}

const CounterProbe* counter_probe() { return g_probe.load(std::memory_order_acquire); }

}  // namespace stepscope
