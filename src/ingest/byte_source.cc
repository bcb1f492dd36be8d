#include "ingest/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "ingest/decompressor.h"
#include "ingest/raw_input.h"

namespace stepscope {
namespace {

constexpr size_t kMagicBytes = 4;
constexpr size_t kPeekBytes = 64 << 10;

}  // namespace

ByteSource::ByteSource(std::string name, std::unique_ptr<RawInput> input)
    : name_(std::move(name)), input_(std::move(input)) {}

ByteSource::~ByteSource() = default;

Result<std::unique_ptr<ByteSource>> ByteSource::open(const std::string& path) {
  int descriptor = STDIN_FILENO;
  std::string name = "standard input";
  if (path != "-") {
    name = path;
    descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) return Status::error(name + ": " + describe_errno(errno));
    if (descriptor <=
        STDERR_FILENO) {  // the caller closed a standard stream; leave its place alone
      const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
      const int error = errno;
      ::close(descriptor);
      if (moved < 0) return Status::error(name + ": " + describe_errno(error));
      descriptor = moved;
    }
  }
  auto input = std::make_unique<RawInput>(descriptor, name);
  struct stat info {};
  if (fstat(descriptor, &info) != 0) return Status::error(name + ": " + describe_errno(errno));
  if (S_ISDIR(info.st_mode)) return Status::error(name + ": is a directory");
  return start(std::move(name), std::move(input));
}

Result<std::unique_ptr<ByteSource>> ByteSource::from_memory(std::string_view bytes,
                                                            std::string name) {
  if (bytes.empty()) return Status::error(name + ": the file is empty");
  return start(std::move(name), std::make_unique<RawInput>(bytes));
}

Result<std::unique_ptr<ByteSource>> ByteSource::start(std::string name,
                                                      std::unique_ptr<RawInput> input) {
  std::unique_ptr<ByteSource> source(new ByteSource(std::move(name), std::move(input)));
  if (Status status = source->input_->buffer_at_least(kMagicBytes); !status) return status;
  const std::string_view first = source->input_->buffered();
  if (first.empty()) {
    const bool is_stdin = source->name_ == "standard input";
    return Status::error(source->name_ + (is_stdin ? ": nothing came in" : ": the file is empty"));
  }
  source->decompressor_ = find_decompressor(first);
  source->peeked_.resize(kPeekBytes);
  const auto peeked = source->read_on(source->peeked_);
  if (!peeked) return peeked.status();
  source->peeked_.resize(*peeked);
  if (*peeked == 0) {
    return Status::error(
        source->name_ + ": " +
        (source->fault_.empty() ? "the compressed file is empty" : source->fault_));
  }
  return source;
}

Result<size_t> ByteSource::read(std::span<char> into) {
  const size_t from_peek = std::min(into.size(), peeked_.size() - peeked_used_);
  std::copy_n(peeked_.data() + peeked_used_, from_peek, into.data());
  peeked_used_ += from_peek;
  size_t filled = from_peek;
  if (filled < into.size()) {
    const auto rest = read_on(into.subspan(filled));
    if (!rest) return rest.status();
    filled += *rest;
  }
  bytes_delivered_ += filled;
  return filled;
}

Result<size_t> ByteSource::read_on(std::span<char> into) {
  if (decompressor_ == nullptr) return input_->read(into);
  auto bytes = decompressor_->decode(*input_, into);
  fault_ = decompressor_->fault();
  return bytes;
}

const char* ByteSource::compression() const {
  return decompressor_ == nullptr ? "none" : decompressor_->name();
}

bool ByteSource::is_seekable_file() const { return input_->is_regular_file(); }

uint64_t ByteSource::bytes_read_compressed() const { return input_->bytes_read(); }

uint64_t ByteSource::total_bytes_compressed() const { return input_->total_bytes(); }

}  // namespace stepscope
