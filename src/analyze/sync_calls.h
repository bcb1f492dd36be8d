// Calls of the host that wait for a device: synchronisation of a device, a stream or an event, and
// copies that return only when they are done. What a call waited for is the work that ended last
// while it ran; where the trace has CUDA's own synchronisation events (cuda_sync), of the stream
// that they name.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/device_slices.h"

namespace stepscope {

struct SyncCall {
  uint32_t row = 0;        // the runtime call
  uint32_t work = kNoRow;  // the row of what it waited for; kNoRow: nothing
  int64_t wait_ns = 0;     // from its begin to the end of that
};

// cudaStreamSynchronize, hipDeviceSynchronize, cuEventSynchronize, MTIA's synchronizeStream, SYCL's
// urQueueFinish
bool is_sync_call(std::string_view name);
// cudaMemcpy, cudaMemcpyAsync, hipMemcpyWithStream
bool is_copy_call(std::string_view name);

// In order of rows. Copies that did not wait are left out; synchronisations are there even so.
std::vector<SyncCall> find_sync_calls(const Trace& trace, const DeviceSlices& work);

// A synchronisation event of the device (kSync), found by the correlation id of its call.
struct SyncEvent {
  uint32_t row = 0;
  int64_t stream = -1;              // that is synchronised, or that waits
  int64_t wait_on_stream = -1;      // of an event: where it was recorded
  int64_t record_correlation = -1;  // of the cudaEventRecord that is waited for
};
std::unordered_map<int64_t, SyncEvent> find_sync_events(const Trace& trace);

}  // namespace stepscope
