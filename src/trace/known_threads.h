// KnownThreads: the processes and threads of recordings that are loaded already, by pid and tid, so
// that a sampler's file adds its samples to these and not to others of the same number. A pid means
// something only within a boot of a machine.
//
//   KnownThreads known = KnownThreads::of(builder, processes);   // indices, of one boot
//   known.find_process(1234); known.find_thread(process, 1235);
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "trace/trace_builder.h"

namespace stepscope {

class KnownThreads {
 public:
  // Of several processes with one pid (exec; a number that was used again) the last.
  static KnownThreads of(const TraceBuilder& builder, std::span<const uint32_t> processes) {
    KnownThreads known;
    for (const uint32_t process : processes) {
      const ForeignId& pid = builder.processes()[process].pid;
      if (pid.text == kEmptyString) known.processes_[pid.number] = process;
    }
    for (uint32_t i = 0; i < builder.tracks().size(); ++i) {
      const Track& track = builder.tracks()[i];
      if (track.kind != TrackKind::kThread || track.tid.text != kEmptyString) continue;
      known.threads_[{track.process, track.tid.number}] = TrackId{i};
    }
    return known;
  }

  std::optional<uint32_t> find_process(int64_t pid) const {
    const auto it = processes_.find(pid);
    return it == processes_.end() ? std::nullopt : std::optional(it->second);
  }
  std::optional<TrackId> find_thread(uint32_t process, int64_t tid) const {
    const auto it = threads_.find({process, tid});
    return it == threads_.end() ? std::nullopt : std::optional(it->second);
  }

 private:
  std::unordered_map<int64_t, uint32_t> processes_;
  std::map<std::pair<uint32_t, int64_t>, TrackId> threads_;
};

}  // namespace stepscope
