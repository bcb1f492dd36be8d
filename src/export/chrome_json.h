// Writes a trace as Chrome trace-event JSON, which Perfetto, chrome://tracing, HTA and Stepscope
// itself read. Nothing of what the model holds is rounded: times have ns in their decimals,
// arguments their types. One event per line.
//
//   auto out = OutputFile::create("trace.json.gz");
//   write_chrome_json(trace, ChromeJsonLayout::kChrome, **out);
//   Status status = (*out)->finish();
//
// | in the trace              | in the file                                                     |
// |---------------------------|-----------------------------------------------------------------|
// | slice                     | "X"; of kind instant "i"; on an asynchronous track "b" and "e"  |
// | counter                   | "C", one series per event                                       |
// | flow                      | "s" and "f" with bp "e"; chains have "t" between                |
// | allocation                | "i" named [memory], with Kineto's arguments                     |
// | sample, stack, frame      | "samples" and "stackFrames" beside the events                   |
// | process, track            | "M": process_name, process_labels, thread_name, …_sort_index    |
// | device, metadata          | keys beside "traceEvents", as Kineto does                       |
// Call edges have no place in this format. Nor have kinds: readers tell an operator from a kernel
// by its category. So a slice of a trace that was never such a file gets the category that Kineto
// gives to its kind, and its own one becomes its argument "category". Its slices nest, as viewers
// demand (nested_times.h); a recording in Kineto's layout has the ids and the span that Kineto's
// readers look for (kineto_ids.h).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "export/output_file.h"
#include "trace/trace.h"

namespace stepscope {

enum class ChromeJsonLayout {
  kChrome,  // only what the trace holds
  kKineto,  // with the keys that readers of PyTorch's .pt.trace.json look for
};

// What is drawn over a trace: slices with the argument "critical": 1, and arrows of the category
// critical_path, as HolisticTraceAnalysis' overlays have them.
struct ChromeOverlay {
  struct Arrow {
    SliceId from = kNoSlice;
    SliceId to = kNoSlice;
    int64_t from_ns = 0;
    int64_t to_ns = 0;
    int64_t weight_ns = 0;
    std::string_view type;
  };
  std::vector<uint8_t> is_critical;  // by row
  std::vector<Arrow> arrows;
};

// Errors stay in `out`, for its finish().
void write_chrome_json(const Trace& trace, ChromeJsonLayout layout, OutputFile& out,
                       const ChromeOverlay* overlay = nullptr);

}  // namespace stepscope
