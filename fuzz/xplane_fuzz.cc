// Arbitrary bytes as an XPlane profile: loaded and every column read; one in eight goes through
// views, and is cut, which must not add a slice.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "advise/all_views.h"
#include "base/check.h"
#include "ingest/load.h"
#include "ingest/xplane.h"
#include "read_trace.h"
#include "trace/trace.h"

using namespace stepscope;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!looks_like_xplane(bytes)) return 0;  // another format's fuzzer has it
  const Result<Trace> trace = load_bytes(bytes, "fuzz");
  CHECK(trace.ok(), "what looks like a profile is one, be it cut or damaged");
  fuzz::read_all(*trace);
  CHECK(trace->stats().get(Stat::kEventsRead) >= trace->slices().size(), "events are counted");
  if (data[size - 1] % 8 != 0) return 0;  // the rest takes most of the time
  for (const char* view : {"overview", "tracks", "steps", "phases", "input", "findings",
                           "operators", "kernels", "devices"}) {
    CHECK(make_any_view(*trace, view, {}).ok(), "every view can be made");
  }
  const Result<Trace> cut = load_bytes(bytes.substr(0, size - size / 4), "fuzz");
  if (cut) CHECK(cut->slices().size() <= trace->slices().size(), "a cut adds nothing");
  return 0;
}
