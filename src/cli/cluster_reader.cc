// The pipe carries frames: a letter, u32 length, that many bytes.
//
//   N  the number of ranks, as text
//   S  u32 place of the rank among all, then its summary (analyze/rank_summary_codec.cc)
//   F  "<source>: <why>": a rank that could not be read
//   P  the same of one that the user named
//   E  why nothing can be done at all
//   .  the end, empty
#include "cli/cluster_reader.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "cli/find_python.h"
#include "cli/terminal.h"

extern char** environ;

namespace stepscope::cli {
namespace {

constexpr std::string_view kDaskScheme = "dask://";
constexpr uint32_t kMostFrameBytes = 256u << 20;

// A child whose standard output is read here.
class PipedChild {
 public:
  static Result<PipedChild> start(const std::vector<std::string>& arguments) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      return Status::error(std::string("pipe: ") + std::strerror(errno));
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::vector<char*> words;
    for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    PipedChild child;
    const int error =
        ::posix_spawn(&child.pid_, words[0], &actions, nullptr, words.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    child.from_ = ends[0];
    if (error != 0) {
      child.pid_ = -1;
      return Status::error(arguments[0] + ": " + std::strerror(error));
    }
    return child;
  }

  PipedChild(PipedChild&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), from_(std::exchange(other.from_, -1)) {}
  PipedChild(const PipedChild&) = delete;
  PipedChild& operator=(const PipedChild&) = delete;
  ~PipedChild() {
    if (from_ >= 0) ::close(from_);
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  }

  // All of it, or false at the end.
  bool read(uint8_t* into, size_t size) const {
    while (size > 0) {
      const ssize_t got = ::read(from_, into, size);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      into += got;
      size -= static_cast<size_t>(got);
    }
    return true;
  }

 private:
  PipedChild() = default;
  pid_t pid_ = -1;
  int from_ = -1;
};

struct ClusterFrame {
  char kind = 0;
  std::vector<uint8_t> bytes;
  std::string text() const { return {bytes.begin(), bytes.end()}; }
};

// Grows with what comes, not with what a length claims.
std::optional<ClusterFrame> read_frame(const PipedChild& child) {
  std::array<uint8_t, 5> head{};
  if (!child.read(head.data(), head.size())) return std::nullopt;
  ClusterFrame frame;
  frame.kind = static_cast<char>(head[0]);
  uint32_t left = load_le<uint32_t>(head.data() + 1);
  if (left > kMostFrameBytes) return std::nullopt;
  while (left > 0) {
    const size_t piece = std::min<uint32_t>(left, 1u << 20);
    const size_t at = frame.bytes.size();
    frame.bytes.resize(at + piece);
    if (!child.read(frame.bytes.data() + at, piece)) return std::nullopt;
    left -= static_cast<uint32_t>(piece);
  }
  return frame;
}

}  // namespace

Result<JobReading> read_job_on_cluster(const std::vector<std::string>& paths,
                                       const ClusterOptions& options) {
  if (!options.cluster.starts_with(kDaskScheme)) {
    return Status::error("--cluster " + options.cluster + ": write it as dask://HOST:PORT");
  }
  const auto python = find_python(options.python, options.called_as);
  if (!python) return python.status();
  std::vector<std::string> arguments = {*python, "-m", "stepscope._cluster",
                                        options.cluster.substr(kDaskScheme.size()),
                                        std::to_string(options.world_size)};
  arguments.insert(arguments.end(), paths.begin(), paths.end());
  const auto child = PipedChild::start(arguments);
  if (!child) return child.status();

  JobReading reading;
  std::map<uint32_t, RankSummary> summaries;  // by place: as a local reading has them
  size_t count = 0;
  size_t done = 0;
  ProgressBar bar("ranks");
  while (auto frame = read_frame(*child)) {
    if (frame->kind == '.') {
      std::sort(reading.faults.begin(), reading.faults.end());
      for (auto& [place, summary] : summaries) reading.summaries.push_back(std::move(summary));
      return reading;
    }
    if (frame->kind == 'E') return Status::error(frame->text());
    if (frame->kind == 'N') {
      const std::string text = frame->text();
      std::from_chars(text.data(), text.data() + text.size(), count);
      continue;
    }
    ++done;
    if (frame->kind == 'S') {
      ByteReader in(frame->bytes);
      const auto place = in.read<uint32_t>();
      auto summary = decode_summary(in.take(in.remaining()));
      if (summary) {
        summaries.insert_or_assign(place, *std::move(summary));
      } else {
        reading.faults.push_back(options.cluster + ": " + summary.status().message());
      }
    } else {
      reading.faults.push_back(frame->text());
      reading.has_named_fault |= frame->kind == 'P';
    }
    bar.show(count > 0 ? static_cast<double>(done) / static_cast<double>(count) : -1,
             std::to_string(done) + " of " + std::to_string(count) + " ranks");
  }
  return Status::error(options.cluster + ": " + *python +
                       " -m stepscope._cluster ended too early (is the package installed there?)");
}

}  // namespace stepscope::cli
