#include "export/chrome_header.h"

#include <algorithm>
#include <array>
#include <utility>

namespace stepscope {
namespace {

bool has_metadata(const Trace& trace, std::string_view name) {
  return std::any_of(trace.metadata().begin(), trace.metadata().end(),
                     [&](const MetadataEntry& entry) { return trace.string(entry.key) == name; });
}

bool is_sample_key(std::string_view name) { return name == "samples" || name == "stackFrames"; }

void write_devices(ChromeEventText& to) {
  std::string& text = to.text();
  text += '[';
  bool is_first = true;
  for (const Device& device : to.trace().devices()) {
    text += is_first ? "\n" : ",\n";
    is_first = false;
    text += "{\"id\":";
    json::append_int(text, device.id);
    to.field("name", to.string(device.name));
    const std::array<std::pair<std::string_view, int64_t>, 11> figures = {{
        {"totalGlobalMem", device.total_memory_bytes},
        {"computeMajor", device.compute_major},
        {"computeMinor", device.compute_minor},
        {"maxThreadsPerBlock", device.max_threads_per_block},
        {"maxThreadsPerMultiprocessor", device.max_threads_per_sm},
        {"regsPerBlock", device.registers_per_block},
        {"regsPerMultiprocessor", device.registers_per_sm},
        {"warpSize", device.warp_size},
        {"sharedMemPerBlock", device.shared_memory_per_block},
        {"sharedMemPerMultiprocessor", device.shared_memory_per_sm},
        {"numSms", device.sm_count},
    }};
    for (const auto& [name, value] : figures) {
      if (value != 0) to.field_int(name, value);
    }
    text += '}';
  }
  text += ']';
}

}  // namespace

void write_chrome_header(ChromeEventText& to) {
  const Trace& trace = to.trace();
  const bool is_kineto = to.is_kineto();
  const bool has_samples = !trace.samples().time_ns.empty();
  if (is_kineto && !has_metadata(trace, "schemaVersion")) {
    to.key("schemaVersion");
    to.text() += '1';
  }
  if (!has_metadata(trace, "deviceProperties") && (is_kineto || !trace.devices().empty())) {
    to.key("deviceProperties");
    write_devices(to);
  }
  for (const MetadataEntry& entry : trace.metadata()) {
    const std::string_view name = to.string(entry.key);
    const bool is_ours = name == "traceEvents" || (has_samples && is_sample_key(name));
    if (is_ours) continue;
    to.key(name);
    if (entry.is_json) {
      to.json_value(to.string(entry.value));
    } else {
      json::append_string(to.text(), to.string(entry.value));
    }
  }
  if (is_kineto && !has_metadata(trace, "displayTimeUnit")) {
    to.key("displayTimeUnit");
    to.text() += "\"ms\"";
  }
  const bool has_base = has_metadata(trace, "baseTimeNanoseconds");
  if (!has_base && (is_kineto || trace.clock_base_ns() != 0)) {
    to.key("baseTimeNanoseconds");
    json::append_int(to.text(), trace.clock_base_ns());
  }
}

}  // namespace stepscope
