// SystemCounters: what the machine and the process tree are doing, as counters of the recording:
// CPU time (user, system, iowait), how the first thread spends its time, use of each core, run
// queue, resident memory, page faults, bytes read and written on disk and network. Read from /proc
// ten times a second by the drain thread, at well under 0.1 % of a core.
//
//   SystemCounters counters(definitions);
//   counters.sample();          // records one value of each counter
#pragma once

#include <memory>

#include "collect/recorder/definitions.h"

namespace stepscope {

class SystemCounters {
 public:
  explicit SystemCounters(Definitions& definitions);
  SystemCounters(const SystemCounters&) = delete;
  SystemCounters& operator=(const SystemCounters&) = delete;
  ~SystemCounters();

  // Writes counter records on the calling thread. A figure that can not be read is left out.
  void sample();

 private:
  struct Sources;
  std::unique_ptr<Sources> sources_;
};

}  // namespace stepscope
