#include "advise/input_model.h"

#include <algorithm>
#include <cmath>

#include "advise/device_use.h"
#include "advise/device_what_if.h"
#include "advise/step_replay.h"

namespace stepscope {
namespace {

constexpr int64_t kHandOverNs = 300'000;  // a batch's way out of a worker
constexpr uint32_t kMostWorkers = 8;
constexpr double kEvenlyBusy = 4;     // times what workers are busy: then they are on all cores
constexpr double kWaitsOfRest = 0.1;  // that threads which compute together wait for each other
constexpr double kGivenBack = 0.5;    // of what other programs use, once there is more to do
constexpr double kLeastFetchCores = 0.05;  // a fetch that only waits takes some work

// What is left of a step without its input. While the host waits for that, devices go on with what
// they were given before.
int64_t find_rest_ns(const Case& c, int64_t step_ns) {
  if (DeviceUse::of(c)->empty()) {
    return std::max<int64_t>(0, step_ns - c.per_step(c.input.wait_ns));
  }
  WhatIf without_input(c.trace);
  leave_out_input(c, without_input);
  const auto replay = StepReplay::of(c.trace);
  return static_cast<int64_t>(static_cast<double>(step_ns) * (1 - replay->saved(without_input)));
}

}  // namespace

InputModel::InputModel(const Case& c)
    : step_ns_(c.per_step(c.total_ns)),
      rest_ns_(find_rest_ns(c, step_ns_)),
      fetch_ns_(c.per_step(c.input.fetch_ns)),
      workers_(c.input.workers),
      knows_cores_(c.cpu.cores > 0),
      cores_(knows_cores_ ? c.cpu.cores : 2 * kMostWorkers),
      free_cores_(cores_),
      compute_cores_(1),
      fetch_cores_(1) {
  if (c.cpu.other_cores > 0) {
    free_cores_ = std::max(1.0, free_cores_ - (1 - kGivenBack) * c.cpu.other_cores);
  }
  if (!c.input.is_in_process) return;
  const auto fetch_ns = static_cast<double>(fetch_ns_);
  const auto rest_ns = static_cast<double>(rest_ns_);
  if (c.cpu.waiting >= 0 && fetch_ns > 0) {
    const double waiting_ns =
        std::max(0.0, c.cpu.waiting * static_cast<double>(step_ns_) - kWaitsOfRest * rest_ns);
    fetch_cores_ = std::clamp(1 - waiting_ns / fetch_ns, kLeastFetchCores, 1.0);
  }
  if (c.cpu.used_cores >= 0 && rest_ns > 0) {
    const double used_ns = c.cpu.used_cores * static_cast<double>(step_ns_);
    compute_cores_ = std::clamp((used_ns - fetch_ns * fetch_cores_) / rest_ns, 1.0, free_cores_);
  }
}

uint32_t InputModel::useful_workers() const {
  if (knows_cores_) return std::clamp(cores_, 1u, kMostWorkers);
  const int64_t keep_up = fetch_ns_ / std::max<int64_t>(1, rest_ns_) + 2;
  return static_cast<uint32_t>(std::min<int64_t>(keep_up, kMostWorkers));
}

int64_t InputModel::step_ns_with(uint32_t workers, int64_t fetch_ns) const {
  if (workers == 0) return rest_ns_ + fetch_ns;
  const auto fetch = static_cast<double>(fetch_ns);
  const auto rest = static_cast<double>(rest_ns_ + kHandOverNs);
  const double made = fetch / workers;
  const double of_cores = (fetch * fetch_cores_ + rest * compute_cores_) / free_cores_;
  const double shared = std::max({rest, made, of_cores});
  // While all cores compute together, a worker pushes one of their threads aside, and the others
  // wait for that one. Workers that are busy most of the time do so on all cores alike.
  const double together =
      free_cores_ > 1 ? std::clamp((compute_cores_ - 1) / (free_cores_ - 1), 0.0, 1.0) : 1;
  const double delayed = rest + fetch * fetch_cores_ * together;
  const double busy = std::min(1.0, kEvenlyBusy * fetch / (workers * shared));
  return static_cast<int64_t>(std::max(shared, busy * shared + (1 - busy) * delayed));
}

int64_t InputModel::step_ns_with_faster_fetch(double share) const {
  const auto fetch_ns = static_cast<int64_t>(static_cast<double>(fetch_ns_) * (1 - share));
  return workers_ == 0 ? rest_ns_ + fetch_ns : step_ns_with(workers_, fetch_ns);
}

double InputModel::saved(int64_t new_step_ns) const {
  if (step_ns_ <= 0) return 0;
  return std::clamp(1 - static_cast<double>(new_step_ns) / static_cast<double>(step_ns_), 0.0, 1.0);
}

}  // namespace stepscope
