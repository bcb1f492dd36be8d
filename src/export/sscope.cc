#include "export/sscope.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

#include "export/output_file.h"
#include "trace/trace_file.h"

namespace stepscope {
namespace {

// A file under a name of its own, that is removed unless it was given another.
struct PartFile {
  std::string path;
  ~PartFile() {
    if (!path.empty()) unlink(path.c_str());
  }
};

Status copy_into(const std::string& from, OutputFile& out) {
  const int descriptor = ::open(from.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return Status::error(from + ": " + std::generic_category().message(errno));
  std::vector<char> chunk(1 << 20);
  ssize_t bytes = 0;
  while (out.ok() && (bytes = ::read(descriptor, chunk.data(), chunk.size())) > 0) {
    out.append({chunk.data(), static_cast<size_t>(bytes)});
  }
  const int error = errno;
  ::close(descriptor);
  if (bytes < 0) return Status::error(from + ": " + std::generic_category().message(error));
  return out.finish();
}

}  // namespace

Status write_sscope_file(const Trace& trace, const std::string& path) {
  // Finds out about a missing folder, a directory or a write-protected file before any work is
  // done.
  auto out = OutputFile::create(path);
  if (!out) return out.status();

  std::error_code error;
  const bool is_plain = path != "-" && (!std::filesystem::exists(path, error) ||
                                        std::filesystem::is_regular_file(path, error));
  PartFile part;
  const std::string suffix = ".part-" + std::to_string(getpid());
  if (!is_plain) {
    part.path = (std::filesystem::temp_directory_path(error) / ("stepscope" + suffix)).string();
    if (Status status = save_trace(trace, part.path); !status) return status;
    return copy_into(part.path, **out);
  }
  std::string target = path;
  if (std::filesystem::exists(path, error)) {
    target = std::filesystem::canonical(path, error).string();  // a link stays a link
    if (error) return Status::error(path + ": " + error.message());
  }
  part.path = target + suffix;
  if (Status status = save_trace(trace, part.path); !status) return status;
  if (std::rename(part.path.c_str(), target.c_str()) != 0) {
    return Status::error(path + ": " + std::generic_category().message(errno));
  }
  part.path.clear();
  return {};
}

}  // namespace stepscope
