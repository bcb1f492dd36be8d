#include "ingest/kineto.h"

#include <simdjson.h>

#include <array>
#include <initializer_list>
#include <utility>

namespace stepscope {
namespace {

using Rule = std::pair<std::string_view, SliceKind>;

constexpr std::array<Rule, 27> kCategories = {{
    {"cpu_op", SliceKind::kOperator},
    {"Operator", SliceKind::kOperator},
    {"user_annotation", SliceKind::kAnnotation},
    {"python_function", SliceKind::kPython},
    {"nn_module", SliceKind::kPython},  // a module's call
    {"phase", SliceKind::kAnnotation},  // a mark of our own recordings of torch
    {"c_function", SliceKind::kCall},   // what our recordings of Python call a function of C
    {"cuda_runtime", SliceKind::kRuntime},
    {"Runtime", SliceKind::kRuntime},
    {"cuda_driver", SliceKind::kRuntime},
    {"kernel", SliceKind::kKernel},
    {"Kernel", SliceKind::kKernel},
    {"gpu_memcpy", SliceKind::kMemcpy},
    {"Memcpy", SliceKind::kMemcpy},
    {"gpu_memset", SliceKind::kMemset},
    {"Memset", SliceKind::kMemset},
    {"gpu_user_annotation", SliceKind::kDeviceAnnotation},
    {"cuda_sync", SliceKind::kSync},
    {"overhead", SliceKind::kOverhead},
    {"Trace", SliceKind::kSpan},
    {"mtia_runtime", SliceKind::kRuntime},
    {"xpu_runtime", SliceKind::kRuntime},
    {"xpu_driver", SliceKind::kRuntime},
    {"privateuse1_runtime", SliceKind::kRuntime},
    {"privateuse1_driver", SliceKind::kRuntime},
    {"fee", SliceKind::kPython},  // viztracer's function entry and exit
    {"FEE", SliceKind::kPython},  // the same before its version 1
}};

// MTIA has one category for all that its queues do.
SliceKind kind_on_mtia(std::string_view name) {
  if (name.starts_with("dma") || name.starts_with("Memcpy")) return SliceKind::kMemcpy;
  // A queue that waits for another does nothing.
  if (name == "event_wait" || name == "event_record") return SliceKind::kOther;
  return SliceKind::kKernel;
}

int64_t number(simdjson::dom::object device, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    int64_t value = 0;
    if (device[key].get(value) == simdjson::SUCCESS) return value;
  }
  return 0;
}

}  // namespace

SliceKind kind_of(std::string_view category, std::string_view name) {
  if (name.starts_with("ProfilerStep#") && !category.starts_with("gpu_")) return SliceKind::kStep;
  if (category == "mtia_ccp_events") return kind_on_mtia(name);
  for (const auto& [known, kind] : kCategories) {
    if (category == known) return kind;
  }
  return SliceKind::kOther;
}

void add_devices(std::string_view json, TraceBuilder& builder) {
  simdjson::dom::parser parser;
  simdjson::dom::array list;
  if (parser.parse(json.data(), json.size()).get(list)) return;
  for (simdjson::dom::element element : list) {
    simdjson::dom::object object;
    if (element.get(object)) continue;
    Device device;
    device.id = number(object, {"id"});
    std::string_view name;
    if (object["name"].get(name) == simdjson::SUCCESS) device.name = builder.string(name);
    device.total_memory_bytes = number(object, {"totalGlobalMem"});
    device.compute_major = number(object, {"computeMajor", "major"});
    device.compute_minor = number(object, {"computeMinor", "minor"});
    device.sm_count = number(object, {"numSms", "multiProcessorCount"});
    device.warp_size = number(object, {"warpSize"});
    device.max_threads_per_block = number(object, {"maxThreadsPerBlock"});
    device.max_threads_per_sm =
        number(object, {"maxThreadsPerMultiprocessor", "maxThreadsPerMultiProcessor"});
    device.registers_per_block = number(object, {"regsPerBlock"});
    device.registers_per_sm = number(object, {"regsPerMultiprocessor"});
    device.shared_memory_per_block = number(object, {"sharedMemPerBlock"});
    device.shared_memory_per_sm = number(object, {"sharedMemPerMultiprocessor"});
    builder.add_device(device);
  }
}

}  // namespace stepscope
