#include "ingest/sscope.h"

#include <cstring>
#include <vector>

#include "format/layout.h"
#include "trace/trace_file.h"

namespace stepscope {

bool looks_like_sscope(std::string_view head) {
  return head.size() >= format::kFileMagic.size() &&
         std::memcmp(head.data(), format::kFileMagic.data(), format::kFileMagic.size()) == 0;
}

Result<Trace> load_sscope(ByteSource& source, const LoadOptions&) {
  const bool is_plain = std::string_view(source.compression()) == "none";
  if (is_plain && source.is_seekable_file()) return load_trace(source.name());
  std::vector<uint8_t> bytes;
  constexpr size_t kReadBytes = size_t{1} << 20;
  while (true) {
    const size_t before = bytes.size();
    bytes.resize(before + kReadBytes);
    const Result<size_t> count =
        source.read({reinterpret_cast<char*>(bytes.data() + before), kReadBytes});
    if (!count) return count.status();
    bytes.resize(before + *count);
    if (*count == 0) return load_trace(bytes, source.name());
  }
}

}  // namespace stepscope
