// XplaneFile: the bytes of one .xplane.pb file, which is one host's part of a profile, with what
// has to be known before it is read: whose it is and when it began. A plain file is mapped and
// given back to the system as it is read; one that is compressed or comes through a pipe is held.
//
//   Result<XplaneFile> file = XplaneFile::open(source, options);
//   if (!file) return file.status();
//   file->read_into(builder, {.clock_base_ns = file->start_ns()}, options);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/mapped_file.h"
#include "base/status.h"
#include "ingest/byte_source.h"
#include "ingest/load.h"
#include "trace/trace_builder.h"

namespace stepscope {

// Where a file's events go in a trace.
struct XplanePlacement {
  int64_t clock_base_ns = 0;   // the trace's 0, in ns since 1970; 0 where it is unknown
  std::string process_prefix;  // before the names of processes: "host1 "
  int64_t first_pid = 1;       // processes are numbered from here
};

class XplaneFile {
 public:
  // Fails where the source can not be read, and with "<name>: not an XPlane profile".
  static Result<XplaneFile> open(ByteSource& source, const LoadOptions& options);

  const std::string& name() const { return name_; }            // of the source
  const std::string& host_name() const { return host_name_; }  // "" where the file does not tell
  // When the profile began, in ns since 1970; 0 where the file does not tell.
  int64_t start_ns() const { return start_ns_; }

  // Adds processes, tracks, slices with their arguments, devices and metadata, and what went wrong
  // to the builder's stats. Returns the pid after the last one that was given.
  int64_t read_into(TraceBuilder& builder, const XplanePlacement& placement,
                    const LoadOptions& options) const;

 private:
  XplaneFile() = default;

  std::string_view bytes() const;
  void find_start();
  void give_back(std::string_view bytes) const;

  std::string name_;
  std::string host_name_;
  std::string fault_;  // of the compression
  int64_t start_ns_ = 0;
  std::optional<MappedFile> mapped_;
  std::string held_;
};

}  // namespace stepscope
