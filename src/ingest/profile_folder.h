// Which profile a folder stands for: one with *.xplane.pb files is a profile, a host in each file;
// a TensorBoard log folder has profiles in plugins/profile/<run>, or one level below that in train/
// or validation/, and stands for the newest of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

struct ProfileFolder {
  std::string folder;               // the one that has the files
  std::vector<std::string> files;   // by name
  std::vector<std::string> others;  // folders of other profiles, the newest first
};

bool is_xplane_name(std::string_view name);  // by how it ends; .gz and .zst included

// The folder's own files.
std::optional<ProfileFolder> find_profile(const std::string& folder);
// Those of the newest run below a log folder.
std::optional<ProfileFolder> find_newest_profile(const std::string& log_folder);

// Folders of a log folder's runs, the newest first; also such that have no profile.
std::vector<std::string> find_log_runs(const std::string& log_folder);

// "the newest of 3 profiles in this folder, …; the others are …".
std::string describe_choice(const ProfileFolder& profile);

}  // namespace stepscope
