// Kineto's way to write a file: layout and order of keys as its ChromeTraceLogger has them.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace stepscope::bench {

inline constexpr int kPid = 2910249;
inline constexpr int kMainThread = kPid, kAutogradThread = 2919752, kPinThread = 2919760;
inline constexpr int64_t kComputeStream = 7, kCopyStream = 20, kNcclStream = 40;

inline void append(std::string& out, std::string_view value) { out += value; }

template <std::integral T>
void append(std::string& out, T value) {
  char digits[24];
  out.append(digits, std::to_chars(digits, std::end(digits), value).ptr);
}

template <typename... Parts>
void append_text(std::string& out, const Parts&... parts) {
  (append(out, parts), ...);
}

// Nanoseconds as microseconds with three digits.
inline void append_micros(std::string& out, int64_t ns) {
  append_text(out, ns / 1000);
  const int64_t rest = ns % 1000;
  const char digits[4] = {'.', static_cast<char>('0' + rest / 100),
                          static_cast<char>('0' + rest / 10 % 10),
                          static_cast<char>('0' + rest % 10)};
  out.append(digits, 4);
}

inline constexpr std::string_view kEventEnd = "\n    }\n  },\n";

// Up to the first argument; the caller writes arguments and kEventEnd.
inline void begin_event(std::string& out, const char* category, std::string_view name, int64_t pid,
                        int64_t tid, int64_t start_ns, int64_t dur_ns) {
  append_text(out, "  {\n    \"ph\": \"X\", \"cat\": \"", category, "\", \"name\": \"", name,
              "\", \"pid\": ", pid, ", \"tid\": ", tid, ",\n    \"ts\": ");
  append_micros(out, start_ns);
  append_text(out, ", \"dur\": ");
  append_micros(out, dur_ns);
  append_text(out, ",\n    \"args\": {\n");
}

inline void append_flow(std::string& out, char phase, const char* category, int64_t id, int64_t pid,
                        int64_t tid, int64_t at_ns) {
  append_text(out, "  {\n    \"ph\": \"", std::string_view(&phase, 1), "\", \"id\": ", id,
              ", \"pid\": ", pid, ", \"tid\": ", tid, ", \"ts\": ");
  append_micros(out, at_ns);
  append_text(out, ",\n    \"cat\": \"", category, "\", \"name\": \"", category,
              phase == 'f' ? "\", \"bp\": \"e\"\n  },\n" : "\"\n  },\n");
}

inline std::string build_head(bool with_stack) {
  std::string head = "\n{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [";
  for (int id = 0; id < 8; ++id) {
    head += std::string(id ? "," : "") + "\n    {\n      \"id\": " + std::to_string(id) +
            ", \"name\": \"NVIDIA A100-SXM4-80GB\", \"totalGlobalMem\": 85051572224,\n"
            "      \"computeMajor\": 8, \"computeMinor\": 0,\n"
            "      \"maxThreadsPerBlock\": 1024, \"maxThreadsPerMultiprocessor\": 2048,\n"
            "      \"regsPerBlock\": 65536, \"warpSize\": 32,\n"
            "      \"sharedMemPerBlock\": 49152, \"numSms\": 108\n"
            "    , \"regsPerMultiprocessor\": 65536, \"sharedMemPerBlockOptin\": 166912,"
            " \"sharedMemPerMultiprocessor\": 167936\n    }";
  }
  head +=
      "\n  ],\n  \"cupti_version\": 18,\n  \"cuda_runtime_version\": 12010,\n"
      "  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 0, \"world_size\": 8, "
      "\"pg_count\": 1, "
      "\"pg_config\": [{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", \"backend_config\": "
      "\"cuda:nccl\", "
      "\"pg_size\": 8, \"ranks\": [0, 1, 2, 3, 4, 5, 6, 7]}], \"nccl_version\": \"2.20.5\"},\n"
      "  \"record_shapes\": 1,\n  \"with_stack\": " +
      std::string(with_stack ? "1" : "0") + ",\n  \"traceEvents\": [\n";
  return head;
}

// Names of processes, threads and streams, and the span of the whole.
inline std::string build_tail(int64_t first_ns, int64_t last_ns) {
  std::string out;
  auto meta = [&](const char* name, int64_t pid, int64_t tid, const char* key,
                  const std::string& value) {
    append_text(out, "  {\n    \"name\": \"", name, "\", \"ph\": \"M\", \"ts\": ");
    append_micros(out, first_ns);
    append_text(out, ", \"pid\": ", pid, ", \"tid\": ", tid, ",\n    \"args\": {\n      \"", key,
                "\": ", std::string_view(value), "\n    }\n  },\n");
  };
  meta("process_name", kPid, 0, "name", "\"python\"");
  meta("process_labels", kPid, 0, "labels", "\"CPU\"");
  meta("process_sort_index", kPid, 0, "sort_index", std::to_string(kPid));
  for (int id = 0; id < 8; ++id) {
    meta("process_name", id, 0, "name", "\"python\"");
    meta("process_labels", id, 0, "labels", "\"GPU " + std::to_string(id) + "\"");
    meta("process_sort_index", id, 0, "sort_index", std::to_string(16777216 + id));
  }
  for (int64_t stream : {kComputeStream, kCopyStream, kNcclStream}) {
    meta("thread_name", 0, stream, "name", "\"stream " + std::to_string(stream) + " \"");
    meta("thread_sort_index", 0, stream, "sort_index", std::to_string(stream));
  }
  for (int tid : {kMainThread, kAutogradThread, kPinThread}) {
    const char* name = tid == kMainThread  ? "pt_main_thread"
                       : tid == kPinThread ? "pt_data_pin"
                                           : "pt_autograd_0";
    meta("thread_name", kPid, tid, "name", "\"thread " + std::to_string(tid) + " (" + name + ")\"");
    meta("thread_sort_index", kPid, tid, "sort_index", std::to_string(tid));
  }
  append_text(out, "  {\n    \"ph\": \"X\", \"cat\": \"Trace\", \"ts\": ");
  append_micros(out, first_ns - 50'000);
  append_text(out, ", \"dur\": ");
  append_micros(out, last_ns - first_ns + 90'000);
  append_text(
      out,
      ",\n    \"pid\": \"Spans\", \"tid\": \"PyTorch Profiler\",\n    \"name\": \"PyTorch "
      "Profiler (0)\",\n"
      "    \"args\": {\n      \"Op count\": 0\n    }\n  },\n"
      "  {\n    \"name\": \"Iteration Start: PyTorch Profiler\", \"ph\": \"i\", \"s\": \"g\",\n"
      "    \"pid\": \"Traces\", \"tid\": \"Trace PyTorch Profiler\", \"ts\": ");
  append_micros(out, first_ns - 50'000);
  append_text(out,
              "\n  },\n  {\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n    "
              "\"pid\": \"\", \"tid\": \"\", \"ts\": ");
  append_micros(out, last_ns + 50'000);
  append_text(out,
              "\n  }\n  ],\n  \"traceName\": \"generated.json\",\n  \"displayTimeUnit\": \"ms\",\n"
              "  \"baseTimeNanoseconds\": 1711964646000000000\n}\n");
  return out;
}

}  // namespace stepscope::bench
