// The device that an allocation is on, and its name.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace stepscope {

struct AllocationDevice {
  int16_t type = 0;  // torch's c10::DeviceType
  int16_t id = -1;   // -1: none
  friend auto operator<=>(const AllocationDevice&, const AllocationDevice&) = default;
};

// As in torch.device: "cpu", "cuda:0".
std::string device_name(AllocationDevice device);

}  // namespace stepscope
