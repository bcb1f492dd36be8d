#include "analyze/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace stepscope {
namespace {

constexpr double kOverhead = 20;
constexpr double kShortestS = 20e-6;  // shorter ones tell little of what is possible

// The makers' figures: single precision without Tensor Cores, and the memory's bandwidth.
struct KnownDevice {
  std::string_view part_of_name;
  double flops_per_s;
  double bytes_per_s;
};
constexpr auto kKnownDevices = std::to_array<KnownDevice>({
    {"H200", 67e12, 4.8e12},
    {"H100", 67e12, 3.35e12},
    {"A100", 19.5e12, 1.555e12},
    {"V100", 15.7e12, 0.9e12},
    {"P100", 10.6e12, 0.732e12},
    {"A10", 31.2e12, 0.6e12},
    {"L40", 90.5e12, 0.864e12},
    {"L4", 30.3e12, 0.3e12},
    {"T4", 8.1e12, 0.32e12},
    {"RTX 4090", 82.6e12, 1.008e12},
    {"RTX 3090", 35.6e12, 0.936e12},
    {"MI300X", 163.4e12, 5.3e12},
    {"MI250", 45.3e12, 3.277e12},
});

}  // namespace

Roofline::Roofline(const Trace& trace, const OperatorRecords& records) {
  for (const OperatorRecord& record : records.all()) {
    const double seconds = record.device.to_end_s;
    if (!(seconds >= kShortestS)) continue;
    if (record.computation > 0) {
      flops_per_s_ = std::max(flops_per_s_, record.computation / seconds);
    }
    if (record.memory > 0) bytes_per_s_ = std::max(bytes_per_s_, record.memory / seconds);
  }
  if (flops_per_s_ == 0 || bytes_per_s_ == 0) return;
  std::string origin = "the best that an operator here reached";
  for (const Device& device : trace.devices()) {
    const std::string_view name = trace.string(device.name);
    const auto known = std::find_if(
        kKnownDevices.begin(), kKnownDevices.end(),
        [&](const KnownDevice& one) { return name.find(one.part_of_name) != name.npos; });
    if (known == kKnownDevices.end()) continue;
    flops_per_s_ = std::max(flops_per_s_, known->flops_per_s);
    bytes_per_s_ = std::max(bytes_per_s_, known->bytes_per_s);
    origin = name;
    break;
  }
  description_ = fmt::format(
      "bound: by computing above {:.1f} FLOP per byte, by memory below ({:.4g} GFLOPS and {:.4g} "
      "GB/s: {}), by overhead at less than {:.0f} % of both",
      flops_per_s_ / bytes_per_s_, flops_per_s_ / 1e9, bytes_per_s_ / 1e9, origin, 100 / kOverhead);
}

std::string Roofline::bound(double flops, double bytes, double seconds) const {
  if (flops_per_s_ == 0 || bytes_per_s_ == 0 || !(bytes >= 0)) return {};
  const double compute_s = flops > 0 ? flops / flops_per_s_ : 0;
  const double memory_s = bytes / bytes_per_s_;
  if (seconds > kOverhead * std::max(compute_s, memory_s)) return "overhead";
  return compute_s >= memory_s ? "compute" : "memory";
}

}  // namespace stepscope
