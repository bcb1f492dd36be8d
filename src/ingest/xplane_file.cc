#include "ingest/xplane_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "ingest/json_text.h"
#include "ingest/read_whole.h"
#include "ingest/xplane.h"
#include "ingest/xplane_plane.h"
#include "ingest/xplane_wire.h"

namespace stepscope {
namespace {

namespace wire = xplane;

constexpr size_t kMaxHeldBytes = size_t{2} << 30;  // more than a protobuf message may have
constexpr size_t kLeastGivenBackBytes = size_t{64} << 10;
constexpr size_t kMaxNoteBytes = 300;

// When the first line was written, as far as that is a time since 1970; else 0.
int64_t absolute_start_ns(std::string_view line, wire::Damage& ignored) {
  int64_t timestamp_ns = 0;
  wire::for_each_field(line, ignored, [&](protozero::pbf_reader& reader) {
    if (reader.tag_and_type() == wire::line::kTimestampNs) {
      timestamp_ns = reader.get_int64();
    } else if (reader.tag_and_type() == wire::line::kEvent) {
      reader = protozero::pbf_reader();  // the time comes before the events
    } else {
      return false;
    }
    return true;
  });
  return timestamp_ns >= wire::kFirstAbsoluteNs ? timestamp_ns : 0;
}

// The profile_start_time among a plane's stats; 0 where it is not there.
class TaskEnvironment {
 public:
  explicit TaskEnvironment(wire::Damage& ignored) : ignored_(ignored) {}

  void read(std::string_view plane) {
    wire::for_each_field(plane, ignored_, [&](protozero::pbf_reader& reader) {
      if (reader.tag_and_type() == wire::plane::kStatMetadata) {
        read_name(wire::take_bytes(reader));
      } else if (reader.tag_and_type() == wire::plane::kStat) {
        read_stat(wire::take_bytes(reader));
      } else {
        return false;
      }
      return true;
    });
  }

  int64_t start_ns() const {
    const auto found = std::find_if(values_.begin(), values_.end(), [&](const auto& value) {
      return start_id_ && value.first == *start_id_;
    });
    return found == values_.end() ? 0 : found->second;
  }

 private:
  void read_name(std::string_view entry) {
    std::string_view name;
    uint64_t id = 0;
    wire::for_each_field(entry, ignored_, [&](protozero::pbf_reader& reader) {
      if (reader.tag_and_type() == wire::map_entry::kKey) {
        id = reader.get_uint64();
      } else if (reader.tag_and_type() == wire::map_entry::kValue) {
        protozero::pbf_reader value(reader.get_view());
        if (value.next(2, protozero::pbf_wire_type::length_delimited)) {
          name = wire::take_bytes(value);
        }
      } else {
        return false;
      }
      return true;
    });
    if (name == "profile_start_time") start_id_ = id;
  }

  void read_stat(std::string_view stat) {
    std::pair<uint64_t, int64_t> value{};
    wire::for_each_field(stat, ignored_, [&](protozero::pbf_reader& reader) {
      if (reader.tag_and_type() == wire::stat::kMetadataId) {
        value.first = reader.get_uint64();
      } else if (reader.tag_and_type() == wire::stat::kUint64 ||
                 reader.tag_and_type() == wire::stat::kInt64) {
        value.second = reader.get_int64();
      } else {
        return false;
      }
      return true;
    });
    values_.push_back(value);
  }

  wire::Damage& ignored_;
  std::optional<uint64_t> start_id_;
  std::vector<std::pair<uint64_t, int64_t>> values_;
};

struct PlaneHead {
  std::string_view name;
  int64_t absolute_start_ns = 0;
};

PlaneHead read_head(std::string_view plane, wire::Damage& ignored) {
  PlaneHead head;
  wire::for_each_field(plane, ignored, [&](protozero::pbf_reader& reader) {
    if (reader.tag_and_type() == wire::plane::kName) {
      head.name = wire::take_bytes(reader);
    } else if (reader.tag_and_type() == wire::plane::kLine) {
      const int64_t ns = absolute_start_ns(wire::take_message(reader, ignored), ignored);
      if (ns != 0 && (head.absolute_start_ns == 0 || ns < head.absolute_start_ns)) {
        head.absolute_start_ns = ns;
      }
    } else {
      return false;
    }
    return true;
  });
  return head;
}

}  // namespace

Result<XplaneFile> XplaneFile::open(ByteSource& source, const LoadOptions& options) {
  XplaneFile file;
  file.name_ = source.name();
  if (!looks_like_xplane(source.peek())) {
    return Status::error(source.name() + ": not an XPlane profile");
  }
  const bool is_plain = std::string_view(source.compression()) == "none";
  if (is_plain && source.is_seekable_file() && source.name() != "standard input") {
    Result<MappedFile> mapped = MappedFile::open(source.name());
    if (!mapped) return mapped.status();
    file.mapped_ = *std::move(mapped);
  } else {
    Result<std::string> bytes = read_whole(source, kMaxHeldBytes, "an XPlane profile", options);
    if (!bytes) return bytes.status();
    file.held_ = *std::move(bytes);
    file.fault_ = source.fault();
  }
  file.find_start();
  return file;
}

std::string_view XplaneFile::bytes() const {
  if (!mapped_) return held_;
  const auto bytes = mapped_->bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void XplaneFile::find_start() {
  wire::Damage ignored;
  int64_t absolute_ns = 0;
  wire::for_each_field(bytes(), ignored, [&](protozero::pbf_reader& reader) {
    if (reader.tag_and_type() == wire::space::kHostName) {
      if (host_name_.empty())
        host_name_ = mend_text(wire::take_bytes(reader));
      else
        (void)wire::take_bytes(reader);
      return true;
    }
    if (reader.tag_and_type() != wire::space::kPlane) return false;
    const std::string_view plane = wire::take_message(reader, ignored);
    const PlaneHead head = read_head(plane, ignored);
    if (head.name == "Task Environment") {
      TaskEnvironment environment(ignored);
      environment.read(plane);
      if (start_ns_ == 0) start_ns_ = std::max<int64_t>(0, environment.start_ns());
    }
    if (absolute_ns == 0 || (head.absolute_start_ns != 0 && head.absolute_start_ns < absolute_ns)) {
      absolute_ns = head.absolute_start_ns;
    }
    return true;
  });
  if (start_ns_ == 0) start_ns_ = absolute_ns;
}

// Pages that only this range is on. They are read from the file again should they be needed.
void XplaneFile::give_back(std::string_view bytes) const {
  if (!mapped_ || !mapped_->is_mapped() || bytes.size() < kLeastGivenBackBytes) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(bytes.data()) + page - 1) / page * page;
  const uintptr_t end = reinterpret_cast<uintptr_t>(bytes.data() + bytes.size()) / page * page;
  if (end > begin) (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

int64_t XplaneFile::read_into(TraceBuilder& builder, const XplanePlacement& placement,
                              const LoadOptions& options) const {
  const std::string_view all = bytes();
  Stats& stats = builder.stats();
  wire::Damage damage;
  const wire::Clock clock{placement.clock_base_ns, start_ns_};
  wire::PlaneOptions plane_options;
  plane_options.prefix = placement.process_prefix;
  plane_options.on_read = [&](std::string_view read) {
    give_back(read);
    if (options.progress && read.size() >= kLeastGivenBackBytes) {
      options.progress(static_cast<double>(read.data() + read.size() - all.data()) /
                       static_cast<double>(all.size()));
    }
  };
  wire::PlaneReader reader(builder, clock, damage, std::move(plane_options));
  int64_t pid = placement.first_pid;
  const auto note = [&](std::string_view who, std::string_view text) {
    stats.note("the profiler's " + std::string(who) + ": " +
               mend_text(text.substr(0, kMaxNoteBytes)));
  };
  wire::for_each_field(all, damage, [&](protozero::pbf_reader& field) {
    switch (field.tag_and_type()) {
      case wire::space::kPlane:
        pid += reader.read(wire::take_message(field, damage), pid) ? 1 : 0;
        return true;
      case wire::space::kError:
        note("error", wire::take_bytes(field));
        return true;
      case wire::space::kWarning:
        note("warning", wire::take_bytes(field));
        return true;
      default:
        return false;
    }
  });
  if (!fault_.empty()) stats.note(fault_);
  if (damage.first != nullptr) {
    stats.note(name_ + ": byte " + std::to_string(damage.first - all.data()) +
               ": the profile is cut or damaged here; what can be read is kept");
  }
  if (damage.bytes > 0 || !fault_.empty()) {
    stats.add(Stat::kBytesTruncated, std::max<uint64_t>(damage.bytes, 1));
  }
  return pid;
}

}  // namespace stepscope
