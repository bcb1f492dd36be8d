// chrome_timeline.json: a trace as MegEngine's Profiler writes it, for Perfetto and for who is used
// to it. Its threads are the interpreter (scopes: modules, backward, step, clear_grad), a worker
// (operators) and the devices (kernels; of a CPU the operators that do not mostly call others),
// with arrows from one to the next and counters: memory in use, living tensors, pending operators,
// how busy the device was and how much of the time was training.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "trace/trace.h"

namespace stepscope {

// What Profiler was asked for travels with the trace.
inline constexpr std::string_view kMegEngineNoDevice = "megengine_no_device";
inline constexpr std::string_view kMegEngineSampleRate = "megengine_sample_rate";

// See ExportFormat::write.
Result<std::vector<std::string>> write_megengine_timeline(const Trace& trace,
                                                          const std::string& path);

}  // namespace stepscope
