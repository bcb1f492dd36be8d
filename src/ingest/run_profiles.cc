#include "ingest/run_profiles.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "ingest/byte_source.h"
#include "ingest/profile_folder.h"
#include "ingest/xplane_file.h"
#include "trace/trace_builder.h"
#include "trace/trace_file.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

// "tensorflow-1234-2" of RUN/tensorflow-1234-2/plugins/profile/TIME.
std::string name_of_profile(const std::string& run, const std::string& folder) {
  const fs::path inner = fs::path(folder).lexically_relative(run);
  return inner.empty() ? "" : inner.begin()->string();
}

// 1234 of "tensorflow-1234-2": the process that was profiled. Other profiles in the folder are no
// part of the run.
std::optional<int64_t> pid_of_profile(std::string_view name) {
  for (const std::string_view prefix : {"tensorflow-", "jax-"}) {
    if (!name.starts_with(prefix)) continue;
    int64_t pid = 0;
    const char* digits = name.data() + prefix.size();
    const auto [end, error] = std::from_chars(digits, name.data() + name.size(), pid);
    if (error == std::errc() && pid > 0) return pid;
  }
  return std::nullopt;
}

struct Profile {
  std::string name;
  int64_t pid;
  std::string file;
};

// In the order of time.
std::vector<Profile> find_profiles(const std::string& run) {
  std::vector<std::string> folders = find_log_runs(run);
  std::reverse(folders.begin(), folders.end());
  std::vector<Profile> found;
  for (const std::string& folder : folders) {
    const std::string name = name_of_profile(run, folder);
    const auto pid = pid_of_profile(name);
    const auto profile = pid ? find_profile(folder) : std::nullopt;
    if (!profile) continue;
    for (const std::string& file : profile->files) found.push_back({name, *pid, file});
  }
  return found;
}

void add_profile(const std::string& file, const XplanePlacement& placement, TraceBuilder& builder,
                 const LoadOptions& options) {
  Result<std::unique_ptr<ByteSource>> bytes = ByteSource::open(file);
  const Result<XplaneFile> profile =
      bytes ? XplaneFile::open(**bytes, options) : Result<XplaneFile>(bytes.status());
  if (!profile) {
    builder.stats().note(profile.status().message() + "; it is left out");
  } else if (profile->start_ns() == 0) {
    builder.stats().note(file + ": it does not tell when it began; it is left out");
  } else {
    profile->read_into(builder, placement, options);
  }
}

}  // namespace

Result<Trace> load_run_with_profiles(const std::string& folder, const LoadOptions& options) {
  const std::vector<Profile> profiles = find_profiles(folder);
  TraceReadOptions read_options;
  read_options.add_to_run = [&](TraceBuilder& builder, int64_t clock_base_ns) {
    for (const Profile& profile : profiles) {
      XplanePlacement placement;
      placement.clock_base_ns = clock_base_ns;
      placement.first_pid = profile.pid;
      if (profiles.size() > 1) placement.process_prefix = profile.name + " ";
      add_profile(profile.file, placement, builder, options);
    }
  };
  return load_run(folder, read_options);
}

}  // namespace stepscope
