#include "trace/allocation_device.h"

#include <array>
#include <cstddef>

namespace stepscope {

std::string device_name(AllocationDevice device) {
  static constexpr std::array<const char*, 21> kTypes = {
      "cpu",  "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip",
      "fpga", "maia", "xla",    "vulkan", "metal",  "xpu",   "mps",
      "meta", "hpu",  "ve",     "lazy",   "ipu",    "mtia",  "privateuse1"};
  std::string text = device.type >= 0 && static_cast<size_t>(device.type) < kTypes.size()
                         ? kTypes[static_cast<size_t>(device.type)]
                         : "device type " + std::to_string(device.type);
  if (device.id >= 0) text += ":" + std::to_string(device.id);
  return text;
}

}  // namespace stepscope
