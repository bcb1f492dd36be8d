#include "collect/system/system_counters.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "collect/recorder/thread_slot.h"
#include "collect/system/counter_probe.h"
#include "collect/system/system_reader.h"

namespace stepscope {
namespace {

struct FixedCounter {
  const char* name;
  const char* series;
  const char* unit;
  double SystemValues::*value;
};

constexpr FixedCounter kFixed[] = {
    {"CPU", "user", "cores", &SystemValues::user_cores},
    {"CPU", "system", "cores", &SystemValues::system_cores},
    {"CPU", "iowait", "cores", &SystemValues::iowait_cores},
    {"first thread", "running", "fraction", &SystemValues::running},
    {"first thread", "queued", "fraction", &SystemValues::queued},
    {"memory", "RSS", "bytes", &SystemValues::own_resident_bytes},
    {"memory", "RSS tree", "bytes", &SystemValues::resident_bytes},
    {"page faults", "minor", "count/s", &SystemValues::minor_faults_per_s},
    {"page faults", "major", "count/s", &SystemValues::major_faults_per_s},
    {"disk", "read", "bytes/s", &SystemValues::read_bytes_per_s},
    {"disk", "write", "bytes/s", &SystemValues::written_bytes_per_s},
    {"machine CPU", "busy", "cores", &SystemValues::busy_cores},
    {"machine CPU", "iowait", "cores", &SystemValues::machine_iowait_cores},
    {"machine CPU", "steal", "cores", &SystemValues::stolen_cores},
    {"run queue", "", "count", &SystemValues::run_queue},
    {"machine network", "receive", "bytes/s", &SystemValues::received_bytes_per_s},
    {"machine network", "send", "bytes/s", &SystemValues::sent_bytes_per_s},
};

inline void append_counter(uint32_t track, double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  append_record(format::RecordKind::kCounterF64, track, &bits, 1);
}

}  // namespace

struct SystemCounters::Sources {
  explicit Sources(Definitions& all) : definitions(all), core_tracks(reader.shown_cores().size()) {}

  Definitions& definitions;
  SystemReader reader;
  uint32_t tracks[std::size(kFixed)] = {};  // 0: none yet
  uint32_t probe_track = 0;
  std::vector<uint32_t> core_tracks;
};

SystemCounters::SystemCounters(Definitions& definitions)
    : sources_(std::make_unique<Sources>(definitions)) {}

SystemCounters::~SystemCounters() = default;

void SystemCounters::sample() {
  Sources& from = *sources_;
  if (const CounterProbe* probe = counter_probe(); probe != nullptr) {
    if (from.probe_track == 0) {
      from.probe_track = from.definitions.counter(probe->name, probe->series, probe->unit);
    }
    const double value = probe->read();
    if (from.probe_track != 0 && !std::isnan(value)) append_counter(from.probe_track, value);
  }
  const SystemValues& values = from.reader.read();
  for (size_t i = 0; i < std::size(kFixed); ++i) {
    const FixedCounter& counter = kFixed[i];
    const double value = values.*counter.value;
    if (std::isnan(value)) continue;
    uint32_t& track = from.tracks[i];
    if (track == 0) {
      track = from.definitions.counter(counter.name, counter.series, counter.unit);
    }
    if (track != 0) append_counter(track, value);
  }
  for (size_t i = 0; i < from.core_tracks.size(); ++i) {
    const uint32_t core = from.reader.shown_cores()[i];
    const double value = values.core_fractions[core];
    if (std::isnan(value)) continue;
    uint32_t& track = from.core_tracks[i];
    if (track == 0) {
      track = from.definitions.counter("core " + std::to_string(core), "", "fraction");
    }
    if (track != 0) append_counter(track, value);
  }
}

}  // namespace stepscope
