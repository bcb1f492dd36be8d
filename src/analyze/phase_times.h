// What the moments of training steps are spent on: input, forward, backward, optimizer,
// communication, copy, host, idle. Told from the training thread (training_thread.h); every moment
// counts once, for the first of these that holds at it:
//
// - input: the thread is in a DataLoader's __next__, or a request of a tf.data pipeline waits.
// - communication: it is in a collective; or a collective runs on another thread of its process
//   while neither it nor the autograd engine is in an operator (what DDP could not hide).
// - optimizer, where an optimizer is called from within the backward pass.
// - backward: torch's backward call, where one was recorded. Backward nodes outside of one, on any
//   thread of the process, count from the first to the last: until the thread does something else.
// - forward: module calls. Then operators that lead to a backward pass: they begin before it, in a
//   stretch with module calls after the first of these (the loss). In a step without any backward
//   pass, operators before the optimizer; without that too, all.
// - optimizer: Optimizer.step (but for forward and backward in its closure) and zero_grad.
// - copy: aten::to, aten::_to_copy and aten::copy_ that are in no other operator.
// - While the thread waits for the device (cudaStreamSynchronize): what the device does, as below.
// - host: any other thing that was recorded on the thread. User's annotations are none. Of a
//   sampled thread, what it did while it used the CPU; where it waited it was idle.
// - Gaps of at most 1 ms between two pieces of the forward pass belong to it, and those between
//   forward and backward to the backward pass: it is the Python of these, which was not recorded.
// - What a device does: a kernel counts for the phase in which it was launched, before NCCL's
//   kernels (communication) and memcpys (copy).
// - host, where another thread of the process is in an operator.
// - idle: the rest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "analyze/step_spans.h"
#include "trace/trace.h"

namespace stepscope {

enum class Phase : uint8_t {
  kInput = 0,
  kForward,
  kBackward,
  kOptimizer,
  kCommunication,
  kCopy,
  kHost,
  kIdle,
};
inline constexpr size_t kPhases = 8;
inline constexpr std::array<std::string_view, kPhases> kPhaseNames = {
    "input", "forward", "backward", "optimizer", "communication", "copy", "host", "idle"};

using PhaseTimes = std::array<int64_t, kPhases>;  // ns, by phase

// By step; they add up to the length of the step's scope. Steps are in order of their begin.
std::vector<PhaseTimes> find_phase_times(const Trace& trace, const std::vector<Step>& steps);

}  // namespace stepscope
