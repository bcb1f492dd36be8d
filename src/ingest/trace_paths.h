// Which files a user means by a PATH: a file, "-" for standard input, a folder with traces, the
// folder of a run, or that of a profile. A folder is a run where it holds recordings
// (trace/recording.h): these are one trace, and what else lies there is not a part of it. It is a
// profile where it holds XPlane files, or is a log folder with such profiles (profile_folder.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace stepscope {

// The path itself, also of a run or a profile, or the trace files in the folder, by name. Only the
// folder's own files are looked at, and only at their names: .sscope, .json, .json.gz, .json.zst;
// where there are none, those of the newest run of a log folder. Fails with
// "<path>: no such file" or with "<path>: no trace files in this folder".
Result<std::vector<std::string>> find_trace_files(const std::string& path);

// The same where only one trace will do: "<path>: 3 traces in this folder, name one: a.json, …".
Result<std::string> find_trace_file(const std::string& path);

// Each trace file of a folder by itself, also of a run's: the ranks of a job. Where the folder has
// none, those of its folders (one per machine). A path that is no folder stands for itself.
Result<std::vector<std::string>> find_rank_files(const std::string& path);

// Whether a file in a folder is taken for a trace, by its name.
bool has_trace_name(std::string_view name);

bool is_folder(const std::string& path);

}  // namespace stepscope
