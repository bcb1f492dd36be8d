#include "ingest/xplane.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>

#include "ingest/xplane_file.h"
#include "ingest/xplane_wire.h"
#include "trace/trace_builder.h"

namespace stepscope {
namespace {

namespace wire = xplane;

constexpr size_t kMaxPlaneNameBytes = 1024;

// The trace's 0: when the first of the hosts began, so that no time is below it.
int64_t find_clock_base_ns(const std::vector<XplaneFile>& files) {
  int64_t base_ns = 0;
  for (const XplaneFile& file : files) {
    if (file.start_ns() == 0) continue;
    base_ns = base_ns == 0 ? file.start_ns() : std::min(base_ns, file.start_ns());
  }
  return base_ns;
}

// "host1" of "…/host1.xplane.pb.gz".
std::string host_of_path(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  return name.substr(0, name.find(".xplane.pb"));
}

// What tells the files apart: their hosts, or where two have the same, their names.
std::vector<std::string> name_hosts(const std::vector<XplaneFile>& files) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const XplaneFile& file : files) {
    names.push_back(file.host_name());
    if (file.host_name().empty() || !seen.insert(file.host_name()).second) {
      names.clear();
      for (const XplaneFile& each : files) names.push_back(host_of_path(each.name()));
      return names;
    }
  }
  return names;
}

Trace build_trace(std::vector<XplaneFile> files, const std::string& source,
                  const std::vector<std::string>& notes, const LoadOptions& options) {
  TraceBuilder builder;
  builder.set_format("XPlane");
  builder.set_source(source);
  for (const std::string& note : notes) builder.stats().note(note);
  XplanePlacement placement;
  placement.clock_base_ns = find_clock_base_ns(files);
  builder.set_clock_base_ns(placement.clock_base_ns);
  const std::vector<std::string> hosts = name_hosts(files);
  const size_t count = files.size();
  for (size_t i = 0; i < count; ++i) {
    if (count > 1) placement.process_prefix = hosts[i] + " ";
    LoadOptions part = options;
    if (options.progress) {
      part.progress = [&](double fraction) {
        options.progress((static_cast<double>(i) + fraction) / static_cast<double>(count));
      };
    }
    const XplaneFile file = std::move(files[i]);  // gone when it is read
    placement.first_pid = file.read_into(builder, placement, part);
  }
  return std::move(builder).finish();
}

}  // namespace

// A plane comes first, and in it its name, after its id where it has one.
bool looks_like_xplane(std::string_view head) {
  try {
    protozero::pbf_reader space(head.data(), head.size());
    if (!space.next() || space.tag_and_type() != wire::space::kPlane) return false;
    wire::Damage ignored;
    const std::string_view message = wire::take_message(space, ignored);
    protozero::pbf_reader plane(message.data(), message.size());
    if (!plane.next()) return false;
    if (plane.tag_and_type() == wire::plane::kId) {
      plane.skip();
      if (!plane.next()) return false;
    }
    if (plane.tag_and_type() != wire::plane::kName) return false;
    const std::string_view name = wire::take_bytes(plane);
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
    if (name.size() > kMaxPlaneNameBytes || std::any_of(name.begin(), name.end(), is_control)) {
      return false;
    }
    if (!plane.next()) return !name.empty();
    return plane.tag() >= 3 && plane.tag() <= 6;
  } catch (const protozero::exception&) {
    return false;
  }
}

Result<Trace> load_xplane(ByteSource& source, const LoadOptions& options) {
  Result<XplaneFile> file = XplaneFile::open(source, options);
  if (!file) return file.status();
  std::vector<XplaneFile> files;
  files.push_back(*std::move(file));
  return build_trace(std::move(files), source.name(), {}, options);
}

Result<Trace> load_xplane_files(const std::vector<std::string>& paths, const std::string& source,
                                const std::vector<std::string>& notes, const LoadOptions& options) {
  std::vector<XplaneFile> files;
  std::vector<std::string> all_notes = notes;
  Status first_fault;
  for (const std::string& path : paths) {
    Result<std::unique_ptr<ByteSource>> bytes = ByteSource::open(path);
    Result<XplaneFile> file =
        bytes ? XplaneFile::open(**bytes, options) : Result<XplaneFile>(bytes.status());
    if (file) {
      files.push_back(*std::move(file));
      continue;
    }
    if (first_fault.ok()) first_fault = file.status();
    all_notes.push_back(file.status().message() + "; this host is left out");
  }
  if (files.empty()) {
    return first_fault.ok() ? Status::error(source + ": no profile in this folder") : first_fault;
  }
  return build_trace(std::move(files), source, all_notes, options);
}

}  // namespace stepscope
