// Arbitrary bytes as collapsed stacks, also where their shape would not be known: whatever is read
// can be merged and written again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "exported_stacks.h"
#include "ingest/byte_source.h"
#include "ingest/collapsed.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stepscope;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)looks_like_collapsed(bytes);
  const auto source = ByteSource::from_memory(bytes, "fuzz");
  if (!source) return 0;
  if (const auto trace = load_collapsed(**source, {})) check_exports(*trace);
  return 0;
}
