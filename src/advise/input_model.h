// InputModel: what a step would take if its batches came about in another way. The training thread
// computes for `rest_ns`, and needs a batch that takes `fetch_ns` to make. Workers make batches
// while it computes, as many at a time as there are of them, and all share the cores. What the rest
// of a step takes where devices compute is a matter of step_replay.h.
#pragma once

#include <cstdint>

#include "advise/case.h"

namespace stepscope {

class InputModel {
 public:
  explicit InputModel(const Case& c);

  int64_t step_ns() const { return step_ns_; }
  bool knows_cores() const { return knows_cores_; }
  uint32_t cores() const { return cores_; }  // enough of them where they are not known
  // As many as there are cores, up to 8; as keep up where the cores are not known.
  uint32_t useful_workers() const;
  // With so many workers, each of which makes a batch in fetch_ns.
  int64_t step_ns_with(uint32_t workers, int64_t fetch_ns) const;
  int64_t step_ns_with_workers(uint32_t workers) const { return step_ns_with(workers, fetch_ns_); }
  // With the workers that there are, or none, and fetches that take `share` less of their time.
  int64_t step_ns_with_faster_fetch(double share) const;
  // The share of a step that is saved.
  double saved(int64_t new_step_ns) const;

 private:
  int64_t step_ns_;
  int64_t rest_ns_;   // of a step, without waiting for input
  int64_t fetch_ns_;  // for the batches of one step
  uint32_t workers_;
  bool knows_cores_;
  uint32_t cores_;
  double free_cores_;     // that other programs would leave to it
  double compute_cores_;  // that the rest of the step keeps busy
  double fetch_cores_;    // that a fetch does: less than 1 where it waits
};

}  // namespace stepscope
