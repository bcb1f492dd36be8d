// DeviceSlices: all that devices did, stream by stream, each with its type and the call that
// launched it. What the views about GPUs are made of.
//
//   const auto work = DeviceSlices::of(trace);
//   for (const DeviceStream& stream : work->streams())
//     for (const DeviceSlice& slice : work->of_stream(stream)) …
//
// A stream is what the file says it is (the argument "stream", else the track's number): MTIA's
// hardware queues are several tracks of one stream. Synchronisation events are no work, and neither
// is what MTIA's queues write of their own waiting.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "trace/trace.h"

namespace stepscope {

// As HolisticTraceAnalysis has them: communication before memory before computation.
enum class WorkType : uint8_t {
  kNone = 0,  // no work of a device
  kCompute,
  kCommunication,  // NCCL, RCCL, HCCL
  kMemory,         // copies and fills
  kOther,          // a device's own bookkeeping around its work: MTIA's job_exe
};
inline constexpr int kWorkTypes = 5;
std::string_view work_type_name(WorkType type);  // "compute", "communication", …

WorkType find_work_type(SliceKind kind, std::string_view name);
// By LabelId.
std::vector<WorkType> find_work_types(const LabelTable& labels, const StringPool& strings);

inline constexpr uint32_t kNoRow = UINT32_MAX;

struct DeviceSlice {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t row = 0;        // of the trace's slices
  uint32_t call = kNoRow;  // the row of the runtime call that launched it
  WorkType type = WorkType::kCompute;
};

struct DeviceStream {
  uint32_t process = 0;
  int32_t device = -1;  // -1: unknown
  int64_t stream = -1;
  uint32_t first = 0;  // into DeviceSlices::all()
  uint32_t count = 0;
};

class DeviceSlices {
 public:
  // Those of a loaded trace, found once.
  static std::shared_ptr<const DeviceSlices> of(const Trace& trace);
  explicit DeviceSlices(const Trace& trace);

  bool empty() const { return slices_.empty(); }
  // By stream, in it by begin.
  std::span<const DeviceSlice> all() const { return slices_; }
  // By device, then by number.
  std::span<const DeviceStream> streams() const { return streams_; }
  std::span<const DeviceSlice> of_stream(const DeviceStream& stream) const {
    return std::span(slices_).subspan(stream.first, stream.count);
  }
  // The runtime call with a correlation id, the outermost one; kNoRow where there is none.
  uint32_t find_call(int64_t correlation) const;
  // How many have a call: a trace without correlation ids, or without runtime calls, has none.
  uint64_t launched() const { return launched_; }

 private:
  struct Call {
    int64_t correlation;
    uint32_t row;
  };
  void find_calls(const Trace& trace);

  std::vector<DeviceSlice> slices_;
  std::vector<DeviceStream> streams_;
  std::vector<Call> calls_;  // by correlation, each once
  uint64_t launched_ = 0;
};

}  // namespace stepscope
