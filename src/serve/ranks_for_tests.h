// For tests: traces of the ranks of a job, as runs of a server.
//
//   auto runs = Runs::of({make_rank_run(0, 0), make_rank_run(1, 300'000)});   // rank 1 is slower
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "analyze/hand_made_trace.h"
#include "serve/runs.h"

namespace stepscope::serve {

// Eight steps of 1 ms and `more_ns`: a kernel of 400 us and as much more, then an all_reduce, which
// ends on all ranks when the step does.
inline Trace make_rank_trace(int rank, int64_t more_ns) {
  HandMadeTrace made;
  const TrackId stream = made.add_stream(0, 20);
  constexpr int64_t kPeriodNs = 2'000'000;
  for (int64_t i = 0; i < 8; ++i) {
    const int64_t at = i * kPeriodNs;
    made.step("ProfilerStep#" + std::to_string(i), at, kPeriodNs - 10'000);
    made.op("aten::mm", at + 10'000, 20'000);
    made.launch(at + 15'000, 5'000, 10 + 2 * i);
    made.kernel("sgemm", at + 100'000, 400'000 + more_ns, 10 + 2 * i);
    made.launch(at + 45'000, 5'000, 11 + 2 * i);
    const int64_t begin_ns = at + 510'000 + more_ns;
    const SliceRef kernel =
        made.device_work(stream, "ncclKernel_AllReduce_RING_LL_Sum_float", SliceKind::kKernel,
                         begin_ns, at + 1'900'000 - begin_ns, 11 + 2 * i);
    made.set_string(kernel, "Collective name", "allreduce");
    made.set_int(kernel, "In msg nelems", 1000);
    made.set_string(kernel, "dtype", "Float");
    made.set_string(kernel, "Process Group Name", "0");
    made.set_int(kernel, "Seq", 70 + i);
  }
  made.builder().add_metadata("distributedInfo", "{\"rank\": " + std::to_string(rank) + "}", true);
  return made.build();
}

inline RunInfo make_rank_run(int rank, int64_t more_ns) {
  RunInfo info;
  info.path = info.name = "rank" + std::to_string(rank) + ".json";
  info.version = 1;
  info.trace = std::make_shared<const Trace>(make_rank_trace(rank, more_ns));
  return info;
}

}  // namespace stepscope::serve
