#include "ingest/profile_folder.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

namespace stepscope {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxNamed = 5;

// The entries of a folder that `wants`, by name; none where it can not be read.
template <typename Wants>
std::vector<std::string> list(const fs::path& folder, Wants&& wants) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    if (wants(*at)) found.push_back(at->path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool is_shown_folder(const fs::directory_entry& entry) {
  std::error_code error;
  return entry.is_directory(error) && !entry.path().filename().string().starts_with('.');
}

std::string name_of(const std::string& path) { return fs::path(path).filename().string(); }

}  // namespace

bool is_xplane_name(std::string_view name) {
  static constexpr std::array<std::string_view, 3> kSuffixes = {".xplane.pb", ".xplane.pb.gz",
                                                                ".xplane.pb.zst"};
  return !name.starts_with('.') &&
         std::any_of(kSuffixes.begin(), kSuffixes.end(),
                     [&](std::string_view suffix) { return name.ends_with(suffix); });
}

std::optional<ProfileFolder> find_profile(const std::string& folder) {
  ProfileFolder profile;
  profile.folder = folder;
  profile.files = list(folder, [](const fs::directory_entry& entry) {
    std::error_code error;
    return !entry.is_directory(error) && is_xplane_name(entry.path().filename().string());
  });
  if (profile.files.empty()) return std::nullopt;
  return profile;
}

std::vector<std::string> find_log_runs(const std::string& log_folder) {
  const fs::path log = log_folder;
  std::vector<fs::path> places = {log / "plugins" / "profile", log / "profile"};
  if (log.filename() == "profile" || log.parent_path().filename() == "profile") {
    places.push_back(log);
  }
  for (const std::string& part : list(log, is_shown_folder)) {
    places.push_back(fs::path(part) / "plugins" / "profile");
  }
  std::vector<std::string> runs;
  for (const fs::path& place : places) {
    std::vector<std::string> found = list(place, is_shown_folder);
    runs.insert(runs.end(), found.begin(), found.end());
  }
  // A run's name is the time at which it began.
  std::stable_sort(runs.begin(), runs.end(), [](const std::string& a, const std::string& b) {
    return name_of(a) > name_of(b);
  });
  return runs;
}

std::optional<ProfileFolder> find_newest_profile(const std::string& log_folder) {
  std::optional<ProfileFolder> newest;
  for (const std::string& run : find_log_runs(log_folder)) {
    std::optional<ProfileFolder> profile = find_profile(run);
    if (!profile) continue;
    if (newest) {
      newest->others.push_back(run);
    } else {
      newest = std::move(profile);
    }
  }
  return newest;
}

std::string describe_choice(const ProfileFolder& profile) {
  const size_t count = profile.others.size();
  std::string text = profile.folder + " is the newest of " + std::to_string(count + 1) +
                     " profiles in this folder; to read another, name it: ";
  for (size_t i = 0; i < std::min(count, kMaxNamed); ++i) {
    text += (i == 0 ? "" : ", ") + profile.others[i];
  }
  return count > kMaxNamed ? text + ", …" : text;
}

}  // namespace stepscope
