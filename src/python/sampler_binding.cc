#include "python/sampler_binding.h"

#include <fcntl.h>
#include <nanobind/stl/string.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "collect/recorder/guarded_file.h"
#include "collect/sample/sampler_thread.h"
#include "python/trace_fault.h"

namespace nb = nanobind;

namespace stepscope {
namespace {

constexpr double kSecondNs = 1e9;

struct Wanted {
  std::string folder;
  double hz = 0;
  std::string note;
};

// The one of this process, and what it was asked for. Changed only with the GIL held. Never
// destroyed by itself: a child that was forked behind Python's back would wait for its parent's
// thread when it exits.
sample::SamplerThread* g_sampler = nullptr;
Wanted g_wanted;

// 1234.samples.sscope; 1234-2.samples.sscope where that is there.
Result<std::unique_ptr<ByteSink>> open_file(const std::string& folder) {
  const bool is_private = take_private_descriptors();
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return Status::error(folder + ": " + std::strerror(errno));
  const std::string pid = std::to_string(::getpid());
  Result<std::unique_ptr<ByteSink>> opened = Status::error(folder + ": not opened");
  for (int number = 1;; ++number) {
    bool exists = false;
    const std::string name = pid + (number == 1 ? "" : "-" + std::to_string(number));
    auto file =
        GuardedFile::create(descriptor, folder, name + ".samples.sscope", is_private, &exists);
    if (!file && exists) continue;
    opened = file ? Result<std::unique_ptr<ByteSink>>(*std::move(file)) : file.status();
    break;
  }
  ::close(descriptor);
  return opened;
}

Status start_sampler() {
  std::error_code error;
  const std::string folder =
      std::filesystem::absolute(g_wanted.folder, error).lexically_normal().string();
  std::filesystem::create_directories(folder, error);
  if (error) return Status::error(g_wanted.folder + ": " + error.message());
  sample::SamplerOptions options;
  options.period_ns = static_cast<int64_t>(kSecondNs / g_wanted.hz);
  options.is_inside = true;
  auto sampler = sample::SamplerThread::start({.pid = ::getpid(),
                                               .open_file = [folder] { return open_file(folder); },
                                               .note = g_wanted.note},
                                              options);
  if (!sampler) return sampler.status();
  g_sampler = sampler->release();
  return {};
}

void start(const std::string& folder, double hz, const std::string& note) {
  if (g_sampler != nullptr) throw TraceFault("this process is being sampled already");
  if (!(hz >= 1 && hz <= 10'000)) throw TraceFault("hz: expected 1 to 10000 looks a second");
  g_wanted = {folder, hz, note};
  const Status status = start_sampler();
  if (!status) throw TraceFault(status.message());
}

// A forked child has no thread but one: it samples itself as its parent does. The parent's sampler
// is left as it lies, since it can not be joined.
void continue_in_child() {
  if (std::exchange(g_sampler, nullptr) != nullptr) (void)start_sampler();
}

}  // namespace

std::string stop_sampling() {
  const std::unique_ptr<sample::SamplerThread> sampler(std::exchange(g_sampler, nullptr));
  if (sampler == nullptr) return "";
  nb::gil_scoped_release release;  // it may sleep until its next look
  return sampler->stop().message();
}

void bind_sampler(nb::module_& m) {
  m.def("start_sampling", &start, nb::arg("folder"), nb::arg("hz"), nb::arg("note") = "");
  m.def("stop_sampling", &stop_sampling);
  m.def("continue_sampling_in_child", &continue_in_child);
}

}  // namespace stepscope
