// TrainingPhases: what a training program was doing when it took memory: loading input, going
// backward, stepping the optimizer, or, outside of all these, setting up or going forward. Found
// from the scopes that torch records by itself (torch_scopes.h), without knowing any tensor.
//
// A backward pass is a run of backward nodes with no other work of a training thread between them,
// or the mark of our collector around them. It lasts until that thread goes on with something else:
// what autograd holds is given back after its last node. Nodes may run on threads of their own,
// so passes belong to a process and its clock; the other phases are slices of a thread.
//
// Memory: 12 bytes per slice while it lives.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace stepscope {

enum class TrainingPhase : uint8_t {
  kOther = 0,  // setting up, going forward, and what is between
  kInput,
  kBackward,
  kOptimizer,
  kZeroGrad,
};

class TrainingPhases {
 public:
  static constexpr int64_t kNeverNs = INT64_MAX;

  explicit TrainingPhases(const Trace& trace);

  struct Moment {
    TrainingPhase phase = TrainingPhase::kOther;
    int64_t end_ns = kNeverNs;        // of the phase; kNeverNs for kOther
    int64_t node_end_ns = INT64_MIN;  // kBackward: of the node; INT64_MIN outside of nodes
  };
  // `slice` is the innermost one of the track at that moment, or kNoSlice.
  Moment find(TrackId track, SliceId slice, int64_t time_ns) const;

  // The begin of the first backward pass of a process at or after a moment.
  int64_t find_next_backward_ns(uint32_t process, int64_t time_ns) const;
  // When the process began to train: its first phase, or the first operator of the forward pass.
  int64_t training_begin_ns(uint32_t process) const { return processes_[process].begin_ns; }
  // The end of its first step of an optimizer.
  int64_t first_update_ns(uint32_t process) const { return processes_[process].first_update_ns; }

  // The outermost operator around a slice, itself included, or kNoSlice.
  SliceId outermost_operator(SliceId slice) const {
    return slice == kNoSlice ? kNoSlice : operator_[index(slice)];
  }
  // Whether the operators around a slice added to autograd's graph: their result depends on what
  // needs a gradient. Told by the sequence number, which counts autograd's nodes.
  bool made_node(SliceId slice) const;

 private:
  struct Pass {
    int64_t begin_ns;
    int64_t end_ns;
  };
  struct PerProcess {
    std::vector<Pass> passes;  // by time, apart from each other
    int64_t begin_ns = kNeverNs;
    int64_t first_update_ns = kNeverNs;
    int64_t last_backward_node = -1;  // the highest sequence number of a backward node
  };
  struct Numbered {  // an operator of the forward pass with a sequence number
    SliceId slice;
    int64_t number;
  };

  uint32_t process_of(TrackId track) const { return trace_.tracks()[index(track)].process; }
  TrainingPhase phase_of(SliceId slice) const {
    return phase_of_label_[index(trace_.slices().label[index(slice)])];
  }
  bool is_node(SliceId slice) const {
    return is_node_label_[index(trace_.slices().label[index(slice)])] != 0;
  }
  void find_phase_slices();
  void find_numbered_operators();
  void find_passes();
  void find_begins();
  bool made_node_at(size_t numbered) const;
  // The first of numbered_ that starts on the same track when this one is over, or its size.
  size_t find_follower(size_t numbered) const;

  const Trace& trace_;
  std::vector<TrainingPhase> phase_of_label_;
  std::vector<uint8_t> is_node_label_;     // a backward node, not a mark around many
  std::vector<SliceId> phase_;             // by slice: the innermost phase around it
  std::vector<SliceId> operator_;          // by slice: the outermost operator around it
  std::vector<Numbered> numbered_;         // in order of slices
  std::vector<uint32_t> numbered_around_;  // by slice: the outermost of numbered_ around it
  std::vector<uint8_t> leads_;   // by track: goes through the phases, and waits for backward passes
  std::vector<uint8_t> serves_;  // by track: runs backward nodes
  std::vector<PerProcess> processes_;
};

}  // namespace stepscope
