// The bare cost of reading an XPlane profile: one protozero walk over every plane, line, event and
// stat that keeps nothing but a checksum. It is what bench/xplane.py measures stepscope against.
//
//   xplane_pass PROFILE.xplane.pb      prints {"events": ..., "stats": ..., "checksum": ..., ...}
//
// The whole file is mapped. Shares no code with stepscope.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <protozero/pbf_reader.hpp>
#include <cstdint>
#include <cstdio>

namespace {

using protozero::data_view;
using protozero::pbf_reader;
using protozero::pbf_wire_type;

struct Checksum {
  uint64_t events = 0;
  uint64_t stats = 0;
  uint64_t sum = 0;

  void add(data_view bytes) {
    sum += bytes.size() + (bytes.empty() ? 0 : static_cast<unsigned char>(bytes.data()[0]));
  }
};

// XStat: 1 metadata_id; 2 double, 3 uint64, 4 int64, 5 str, 6 bytes or 7 ref.
void add_stat(pbf_reader stat, Checksum& checksum) {
  ++checksum.stats;
  while (stat.next()) {
    switch (stat.wire_type()) {
      case pbf_wire_type::varint:
        checksum.sum += stat.get_uint64();
        break;
      case pbf_wire_type::fixed64:
        checksum.sum += stat.get_fixed64();
        break;
      case pbf_wire_type::length_delimited:
        checksum.add(stat.get_view());
        break;
      default:
        stat.skip();
    }
  }
}

// XEvent: 1 metadata_id, 2 offset_ps, 3 duration_ps, 4 stats, 5 num_occurrences.
void add_event(pbf_reader event, Checksum& checksum) {
  ++checksum.events;
  while (event.next()) {
    if (event.tag() == 4) {
      add_stat(event.get_message(), checksum);
    } else if (event.wire_type() == pbf_wire_type::varint) {
      checksum.sum += event.get_uint64();
    } else {
      event.skip();
    }
  }
}

// XLine: 4 events.
void add_line(pbf_reader line, Checksum& checksum) {
  while (line.next()) {
    if (line.tag() == 4) {
      add_event(line.get_message(), checksum);
    } else {
      line.skip();
    }
  }
}

// XSpace: 1 planes. XPlane: 3 lines, 4 and 5 maps of names, 6 stats.
void add_space(pbf_reader space, Checksum& checksum) {
  while (space.next(1)) {
    pbf_reader plane = space.get_message();
    while (plane.next()) {
      if (plane.tag() == 3) {
        add_line(plane.get_message(), checksum);
      } else if (plane.tag() == 4 || plane.tag() == 5) {
        checksum.add(plane.get_view());
      } else if (plane.tag() == 6) {
        add_stat(plane.get_message(), checksum);
      } else {
        plane.skip();
      }
    }
  }
}

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: xplane_pass PROFILE.xplane.pb\n");
    return 2;
  }
  const int file = ::open(argv[1], O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (file < 0 || ::fstat(file, &status) != 0 || status.st_size == 0) {
    std::fprintf(stderr, "xplane_pass: %s: can not be read\n", argv[1]);
    return 1;
  }
  const auto bytes = static_cast<size_t>(status.st_size);
  const void* data = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  if (data == MAP_FAILED) {
    std::perror("xplane_pass");
    return 1;
  }
  Checksum checksum;
  try {
    add_space(pbf_reader(static_cast<const char*>(data), bytes), checksum);
  } catch (const protozero::exception& error) {
    std::fprintf(stderr, "xplane_pass: %s: %s\n", argv[1], error.what());
    return 1;
  }
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const double cpu_s = seconds(used.ru_utime) + seconds(used.ru_stime);
  std::printf(
      "{\"events\": %llu, \"stats\": %llu, \"checksum\": \"%016llx\", \"cpu_s\": %.3f, "
      "\"peak_rss_bytes\": %lld}\n",
      static_cast<unsigned long long>(checksum.events),
      static_cast<unsigned long long>(checksum.stats),
      static_cast<unsigned long long>(checksum.sum), cpu_s,
      static_cast<long long>(used.ru_maxrss) * 1024);
  return 0;
}
