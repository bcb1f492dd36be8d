#include "collect/system/system_counters.h"

namespace stepscope {
struct SystemCounters::Sources {};
SystemCounters::SystemCounters(Definitions&) {}
SystemCounters::~SystemCounters() = default;
void SystemCounters::sample() {}
}  // namespace stepscope
