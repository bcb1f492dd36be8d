#include "ingest/load.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ingest/byte_source.h"
#include "ingest/chrome_json.h"
#include "ingest/collapsed.h"
#include "ingest/megengine_static.h"
#include "ingest/prof.h"
#include "ingest/profile_folder.h"
#include "ingest/run_profiles.h"
#include "ingest/speedscope.h"
#include "ingest/sscope.h"
#include "ingest/torch_memory_timeline.h"
#include "ingest/trace_paths.h"
#include "ingest/xplane.h"
#include "trace/recording.h"
#include "trace/trace_file.h"

namespace stepscope {
namespace {

// A format that can be read: how to know it by its first bytes, and how to read it. The first that
// knows the bytes takes them.
struct Format {
  bool (*knows)(std::string_view head);
  Result<Trace> (*load)(ByteSource& source, const LoadOptions& options);
};

constexpr Format kFormats[] = {
    {looks_like_sscope, load_sscope},
    {looks_like_prof, load_prof},
    {looks_like_xplane, load_xplane},  // before texts: it begins with what may be a new line
    {looks_like_torch_memory_timeline, load_torch_memory_timeline},
    {looks_like_megengine_static, load_megengine_static},
    {looks_like_speedscope, load_speedscope},
    {looks_like_collapsed, load_collapsed},  // before JSON: a stack may begin with "["
    {looks_like_chrome_json, load_chrome_json},
};

std::string describe(std::string_view head) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (const char c : head.substr(0, 8)) {
    if (!text.empty()) text += ' ';
    text += kHex[static_cast<unsigned char>(c) >> 4];
    text += kHex[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

// A binary file that was saved as text has U+FFFD for each byte that is no text.
bool was_saved_as_text(std::string_view head) {
  return head.substr(0, 64).find("\xEF\xBF\xBD") != head.npos;
}

Result<Trace> load_source(ByteSource& source, const LoadOptions& options) {
  for (const Format& format : kFormats) {
    if (format.knows(source.peek())) return format.load(source, options);
  }
  std::string fault = source.name() + ": not a trace in a format that stepscope knows (it begins " +
                      describe(source.peek()) + ")";
  if (was_saved_as_text(source.peek())) {
    fault +=
        "; bytes of it were replaced by U+FFFD (ef bf bd), as when a binary file is saved as text: "
        "get it anew";
  }
  return Status::error(std::move(fault));
}

// What find_trace_file() gives a folder as itself for: a run, else a profile.
Result<Trace> load_folder(const std::string& path, const LoadOptions& options) {
  if (is_run_folder(path)) return load_run_with_profiles(path, options);
  std::optional<ProfileFolder> profile = find_profile(path);
  if (!profile) profile = find_newest_profile(path);
  if (!profile) return Status::error(path + ": its trace files are gone");
  std::vector<std::string> notes;
  if (!profile->others.empty()) notes.push_back(describe_choice(*profile));
  return load_xplane_files(profile->files, path, notes, options);
}

}  // namespace

Result<Trace> load(const std::string& path, const LoadOptions& options) {
  const Result<std::string> file = find_trace_file(path);
  if (!file) return file.status();
  if (is_folder(*file)) return load_folder(*file, options);
  Result<std::unique_ptr<ByteSource>> source = ByteSource::open(*file);
  if (!source) return source.status();
  return load_source(**source, options);
}

Result<Trace> load_bytes(std::string_view bytes, const std::string& name,
                         const LoadOptions& options) {
  Result<std::unique_ptr<ByteSource>> source = ByteSource::from_memory(bytes, name);
  if (!source) return source.status();
  return load_source(**source, options);
}

}  // namespace stepscope
