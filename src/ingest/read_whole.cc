#include "ingest/read_whole.h"

namespace stepscope {

Result<std::string> read_whole(ByteSource& source, size_t max_bytes, std::string_view what,
                               const LoadOptions& options) {
  std::string bytes;
  while (true) {
    constexpr size_t kReadBytes = size_t{1} << 20;
    const size_t before = bytes.size();
    bytes.resize(before + kReadBytes);
    const Result<size_t> count = source.read({bytes.data() + before, kReadBytes});
    if (!count) return count.status();
    bytes.resize(before + *count);
    if (*count == 0) return bytes;
    if (bytes.size() > max_bytes) {
      return Status::error(source.name() + ": " + std::string(what) + " of more than " +
                           std::to_string(max_bytes >> 20) + " MiB");
    }
    if (options.progress && source.total_bytes_compressed() > 0) {
      options.progress(static_cast<double>(source.bytes_read_compressed()) /
                       static_cast<double>(source.total_bytes_compressed()));
    }
  }
}

}  // namespace stepscope
