#include "ingest/kineto.h"

#include <gtest/gtest.h>

#include <string>

#include "ingest/trace_for_tests.h"

namespace stepscope {
namespace {

TEST(Kineto, CategoriesOldAndNewMeanTheSame) {
  using enum SliceKind;
  const std::tuple<const char*, const char*, SliceKind> cases[] = {
      {"cpu_op", "aten::add", kOperator},
      {"Operator", "aten::add", kOperator},
      {"cuda_runtime", "cudaLaunchKernel", kRuntime},
      {"Runtime", "cudaLaunchKernel", kRuntime},
      {"cuda_driver", "cuLaunchKernel", kRuntime},
      {"kernel", "gemm", kKernel},
      {"Kernel", "gemm", kKernel},
      {"gpu_memcpy", "Memcpy HtoD", kMemcpy},
      {"Memcpy", "Memcpy HtoD", kMemcpy},
      {"gpu_memset", "Memset", kMemset},
      {"Memset", "Memset", kMemset},
      {"user_annotation", "forward", kAnnotation},
      {"gpu_user_annotation", "forward", kDeviceAnnotation},
      {"python_function", "nn.Module: Linear_0", kPython},
      {"nn_module", "nn.Module: head (Linear)", kPython},
      {"phase", "backward", kAnnotation},
      {"cuda_sync", "Stream Wait Event", kSync},
      {"overhead", "CUPTI", kOverhead},
      {"Trace", "PyTorch Profiler (0)", kSpan},
      {"user_annotation", "ProfilerStep#5", kStep},
      {"cpu_op", "ProfilerStep#5", kStep},
      {"Operator", "ProfilerStep#5", kStep},
      {"gpu_user_annotation", "ProfilerStep#5", kDeviceAnnotation},
      {"mtia_runtime", "runFunction - job_prep_and_submit_for_execution", kRuntime},
      {"mtia_ccp_events", "fc-dtype_Float", kKernel},
      {"mtia_ccp_events", "dma_request", kMemcpy},
      {"mtia_ccp_events", "event_wait", kOther},
      {"fee", "f (a.py:1)", kPython},
      {"", "anything", kOther},
      {"unheard of", "anything", kOther},
  };
  for (const auto& [category, name, kind] : cases) {
    EXPECT_EQ(kind_of(category, name), kind) << category << " " << name;
  }
}

// The new form: numbers as ids, categories in lower case, a base of the clock.
constexpr std::string_view kNew = R"json({
  "schemaVersion": 1,
  "deviceProperties": [
    {"id": 0, "name": "NVIDIA A100", "totalGlobalMem": 42298834944, "computeMajor": 8,
     "computeMinor": 0, "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
     "regsPerBlock": 65536, "regsPerMultiprocessor": 65536, "warpSize": 32, "sharedMemPerBlock": 49152,
     "sharedMemPerMultiprocessor": 167936, "numSms": 108}],
  "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2},
  "baseTimeNanoseconds": 1700000000000000000,
  "displayTimeUnit": "ms",
  "traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 100, "tid": 100, "ts": 10.123, "dur": 20,
   "args": {"External id": 5, "Input Dims": [[2, 3], []], "Input type": ["float", "Scalar"],
            "Sequence number": 7, "Fwd thread id": 0}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 100, "ts": 15,
   "dur": 2, "args": {"correlation": 9, "External id": 5}},
  {"ph": "s", "id": 9, "pid": 100, "tid": 100, "ts": 15, "cat": "ac2g", "name": "ac2g"},
  {"ph": "X", "cat": "kernel", "name": "add_kernel", "pid": 0, "tid": 7, "ts": 40, "dur": 3,
   "args": {"device": 0, "stream": 7, "correlation": 9, "blocks per SM": 0.5}},
  {"ph": "f", "id": 9, "pid": 0, "tid": 7, "ts": 40, "cat": "ac2g", "name": "ac2g", "bp": "e"},
  {"ph": "X", "cat": "python_function", "name": "<built-in method add>", "pid": 100, "tid": 100,
   "ts": 9, "dur": 30, "args": {"Python id": 2, "Python parent id": 1}},
  {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 100, "tid": 100,
   "ts": 12, "args": {"Total Reserved": 2097152, "Total Allocated": 1024, "Bytes": 512,
                      "Addr": 140000000000000, "Device Id": 0, "Device Type": 1}},
  {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 100, "tid": 100,
   "ts": 50, "args": {"Bytes": -512, "Addr": 140000000000000, "Device Id": -1, "Device Type": 0}},
  {"name": "process_name", "ph": "M", "ts": 0, "pid": 0, "tid": 0, "args": {"name": "python"}},
  {"name": "process_labels", "ph": "M", "ts": 0, "pid": 0, "tid": 0, "args": {"labels": "GPU 0"}},
  {"name": "thread_name", "ph": "M", "ts": 0, "pid": 0, "tid": 7, "args": {"name": "stream 7"}},
  {"ph": "X", "cat": "Trace", "ts": 1, "dur": 60, "pid": "Spans", "tid": "PyTorch Profiler",
   "name": "PyTorch Profiler (0)", "args": {"Op count": 0}},
  {"name": "Iteration Start: PyTorch Profiler", "ph": "i", "s": "g", "pid": "Traces",
   "tid": "Trace PyTorch Profiler", "ts": 1},
  {"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 99}
  ], "traceName": "t.json"})json";

TEST(Kineto, TheNewFormIsUnderstood) {
  const Trace trace = load_json(kNew);
  EXPECT_EQ(trace.format(), "Kineto JSON");
  EXPECT_EQ(trace.clock_base_ns(), 1700000000000000000);
  EXPECT_EQ(kind_of_slice(trace, "add_kernel"), SliceKind::kKernel);
  const Track& stream = track_of_slice(trace, "add_kernel");
  EXPECT_EQ(stream.kind, TrackKind::kStream);
  EXPECT_EQ(stream.device, 0);
  EXPECT_EQ(stream.stream, 7);
  EXPECT_EQ(trace.string(stream.name), "stream 7");
  EXPECT_EQ(trace.string(trace.processes()[stream.process].labels), "GPU 0");
  EXPECT_EQ(track_of_slice(trace, "aten::add").kind, TrackKind::kThread);
  EXPECT_EQ(flows_as_text(trace), "cudaLaunchKernel 15000+2000 -> add_kernel 40000+3000\n");
  EXPECT_EQ(args_of(trace, find_slice(trace, "aten::add")),
            (std::vector<std::string>{"External id=5", "Fwd thread id=0", "Input Dims=[[2, 3], []]",
                                      R"(Input type=["float", "Scalar"])", "Sequence number=7"}));
  EXPECT_EQ(args_of(trace, find_slice(trace, "<built-in method add>")),
            (std::vector<std::string>{"Python id=2", "Python parent id=1"}));
  EXPECT_FALSE(trace.stats().has_faults());
}

TEST(Kineto, MemoryInstantsAreAllocations) {
  const Trace trace = load_json(kNew);
  const AllocationColumns& allocations = trace.allocations();
  ASSERT_EQ(allocations.time_ns.size(), 2u);
  EXPECT_EQ(allocations.time_ns[0], 12'000);
  EXPECT_EQ(allocations.bytes[0], 512);
  EXPECT_EQ(allocations.address[0], 140000000000000u);
  EXPECT_EQ(allocations.device_type[0], 1);
  EXPECT_EQ(allocations.device_id[0], 0);
  EXPECT_EQ(allocations.total_allocated_bytes[0], 1024);
  EXPECT_EQ(allocations.total_reserved_bytes[0], 2097152);
  EXPECT_EQ(trace.slice_name(allocations.slice[0]), "aten::add");
  EXPECT_EQ(allocations.bytes[1], -512);
  EXPECT_EQ(allocations.device_id[1], -1);
  EXPECT_EQ(allocations.total_allocated_bytes[1], -1);
  EXPECT_EQ(allocations.slice[1], kNoSlice);
}

TEST(Kineto, DevicePropertiesAreRead) {
  const Trace trace = load_json(kNew);
  ASSERT_EQ(trace.devices().size(), 1u);
  const Device& device = trace.devices()[0];
  EXPECT_EQ(trace.string(device.name), "NVIDIA A100");
  EXPECT_EQ(device.total_memory_bytes, 42298834944);
  EXPECT_EQ(device.compute_major, 8);
  EXPECT_EQ(device.sm_count, 108);
  EXPECT_EQ(device.max_threads_per_sm, 2048);
  EXPECT_EQ(device.registers_per_sm, 65536);
  EXPECT_EQ(device.shared_memory_per_sm, 167936);
  EXPECT_EQ(trace.find_metadata("distributedInfo"),
            R"({"backend": "nccl", "rank": 1, "world_size": 2})");
}

TEST(Kineto, TheOldFormIsUnderstood) {
  const Trace trace = load_json(R"({"schemaVersion": 1,
    "computeProperties": [{"id": 0, "name": "V100", "computeMajor": 7, "numSms": 80}],
    "traceEvents": [
    {"ph": "X", "cat": "Operator", "name": "aten::add", "pid": 24572, "tid": "24572",
     "ts": 1623143089861123, "dur": 20, "args": {"Device": 24572, "External id": "2",
     "Trace name": "PyTorch Profiler", "Trace iteration": 0, "Input dims": [[2, 3]]}},
    {"ph": "X", "cat": "Kernel", "name": "k", "pid": 1, "tid": "stream 13", "ts": 1623143089861150,
     "dur": 3, "args": {"device": 1, "stream": 13}},
    {"ph": "X", "cat": "Memcpy", "name": "Memcpy HtoD", "pid": 1, "tid": "stream 13",
     "ts": 1623143089861160, "dur": 1, "args": {}}]})");
  EXPECT_EQ(trace.devices().size(), 1u);
  EXPECT_EQ(track_of_slice(trace, "k").device, 1);
  EXPECT_EQ(track_of_slice(trace, "k").stream, 13);
  EXPECT_EQ(track_of_slice(trace, "aten::add").tid.number, 24572);
  EXPECT_EQ(trace.begin_ns(), 1623143089861123000);
}

TEST(Kineto, DamagedDevicePropertiesAreIgnored) {
  for (const char* devices : {"[1,null,{}]", "{}", "5", R"([{"id":"x","numSms":1e99}])"}) {
    const Trace trace = load_json(R"({"deviceProperties":)" + std::string(devices) +
                                  R"(,"traceEvents":[{"ph":"X","name":"a","ts":1}]})");
    EXPECT_EQ(trace.slices().size(), 1u);
  }
}

}  // namespace
}  // namespace stepscope
