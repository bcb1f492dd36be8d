// What the events of an XPlane profile are called here, and what they are: from the names of their
// metadata and the line that they are on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/label.h"

namespace stepscope::xplane {

// What a line's events are.
enum class LineRole : uint8_t {
  kHost = 0,    // a thread
  kRuntime,     // calls of the device's runtime (/host:CUPTI)
  kStream,      // a GPU's stream
  kDeviceOps,   // the operations of a device that runs one after another (TPU: "XLA Ops")
  kAnnotation,  // other lines of a device: modules, steps, names of operators
};

// A plane by its name: "/device:GPU:1" is device 1; anything that is no device is a host.
struct PlaneRole {
  bool is_device = false;
  bool is_runtime = false;
  bool has_streams = false;  // a GPU: its "XLA Ops" only repeat what is on the streams
  int32_t device = -1;
};
PlaneRole role_of_plane(std::string_view name);

struct LinePlace {
  LineRole role = LineRole::kHost;
  int64_t stream = -1;
};
LinePlace place_of_line(const PlaneRole& plane, std::string_view name, int64_t id);

// Without the "/<number>" at the end that tells threads of one name apart.
std::string_view name_of_line(std::string_view name);

struct EventLabel {
  std::string name;
  std::string_view category;
  SliceKind kind = SliceKind::kOther;
  bool is_operator = false;  // a TensorFlow operator: the whole name is an argument
  bool is_plain = false;     // by nothing but its name: what stats and duration say goes before
};
EventLabel label_of_event(std::string_view name, std::string_view display_name, LineRole role,
                          std::string_view line_name);

}  // namespace stepscope::xplane
