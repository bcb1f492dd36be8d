// What is written and loaded again is the same trace, in every table and column.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "export/export.h"
#include "export/slice_args.h"
#include "ingest/load.h"
#include "trace/trace_builder.h"

namespace stepscope::cli {
namespace {

// A trace as lines of text, without the numbers that a reader is free to give: ids of strings,
// labels and tracks.
class Dump {
 public:
  explicit Dump(const Trace& trace) : trace_(trace) {
    line(fmt::format("trace {} {} {}", trace.clock_base_ns(), trace.begin_ns(), trace.end_ns()));
    add_metadata();
    add_tracks();
    add_slices();
    add_counters_and_flows();
    add_allocations();
    std::sort(lines_.begin(), lines_.end());
  }

  const std::vector<std::string>& lines() const { return lines_; }

 private:
  void line(std::string text) { lines_.push_back(std::move(text)); }
  std::string_view text(StringId id) const { return trace_.string(id); }
  std::string id(const ForeignId& foreign) const {
    return fmt::format("{}'{}'", foreign.number, text(foreign.text));
  }
  std::string label(LabelId label) const {
    const Label& found = trace_.labels()[label];
    return fmt::format("{}|{}|{}", text(found.name), text(found.category), kind_name(found.kind));
  }
  std::string track(TrackId number) const {
    const Track& found = trace_.tracks()[index(number)];
    return fmt::format("{} {} {} {} {}", track_kind_name(found.kind),
                       id(trace_.processes()[found.process].pid), id(found.tid), text(found.name),
                       text(found.series));
  }
  std::string slice(SliceId number) const {
    if (number == kNoSlice) return "none";
    const SliceColumns& slices = trace_.slices();
    const uint32_t row = index(number);
    return fmt::format("<{} {} {} {}>", track(trace_.find_track_of(number)), slices.start_ns[row],
                       slices.dur_ns[row], label(slices.label[row]));
  }

  void add_metadata() {
    for (const MetadataEntry& entry : trace_.metadata()) {
      line(fmt::format("metadata {} {} {}", text(entry.key), text(entry.value), entry.is_json));
    }
    for (const Device& device : trace_.devices()) {
      line(fmt::format("device {} {} {} {}.{} {} {} {} {} {} {} {} {}", device.id,
                       text(device.name), device.total_memory_bytes, device.compute_major,
                       device.compute_minor, device.sm_count, device.warp_size,
                       device.max_threads_per_block, device.max_threads_per_sm,
                       device.registers_per_block, device.registers_per_sm,
                       device.shared_memory_per_block, device.shared_memory_per_sm));
    }
  }

  void add_tracks() {
    for (const Process& process : trace_.processes()) {
      line(fmt::format("process {} {} {} {} {}", id(process.pid), text(process.name),
                       text(process.labels), process.sort_index, process.has_sort_index));
    }
    for (uint32_t i = 0; i < trace_.tracks().size(); ++i) {
      const Track& found = trace_.tracks()[i];
      line(fmt::format("track {} {} {} {} {} {} {}", track(TrackId{i}), found.device, found.stream,
                       found.sort_index, found.has_sort_index, found.slice_count,
                       found.value_count));
    }
  }

  void add_slices() {
    SliceArgs args(trace_);
    for (uint32_t row = 0; row < trace_.slices().size(); ++row) {
      std::vector<std::string> shown;
      args.take(SliceId{row}, [&](const ArgColumn& column, size_t at) {
        std::string value;
        switch (column.type) {
          case ArgType::kInt:
          case ArgType::kBool:
            value = std::to_string(column.ints[at]);
            break;
          case ArgType::kDouble:
            value = fmt::format("{:a}", column.doubles[at]);
            break;
          case ArgType::kString:
          case ArgType::kJson:
            value = text(column.string(at));
            break;
        }
        shown.push_back(
            fmt::format("{}:{}={}", text(column.key), static_cast<int>(column.type), value));
      });
      std::sort(shown.begin(), shown.end());
      std::string text =
          fmt::format("slice {} in {} depth {}", slice(SliceId{row}),
                      slice(trace_.slices().parent[row]), trace_.slices().depth[row]);
      for (const std::string& arg : shown) text += " " + arg;
      line(text);
    }
  }

  void add_counters_and_flows() {
    for (uint32_t i = 0; i < trace_.tracks().size(); ++i) {
      const Track& found = trace_.tracks()[i];
      for (uint64_t j = 0; j < found.value_count; ++j) {
        const uint64_t at = found.first_value + j;
        line(fmt::format("counter {} {} {:a}", track(TrackId{i}), trace_.counters().time_ns[at],
                         trace_.counters().value[at]));
      }
    }
    const FlowColumns& flows = trace_.flows();
    for (size_t i = 0; i < flows.from.size(); ++i) {
      line(fmt::format("flow {} {} at {} to {} at {} id {}", label(flows.label[i]),
                       slice(flows.from[i]), flows.from_ns[i], slice(flows.to[i]), flows.to_ns[i],
                       flows.id[i]));
    }
  }

  void add_allocations() {
    const AllocationColumns& all = trace_.allocations();
    for (size_t i = 0; i < all.time_ns.size(); ++i) {
      line(fmt::format("allocation {} {} {} {} {} {} {} {} {}", all.time_ns[i], track(all.track[i]),
                       slice(all.slice[i]), all.address[i], all.bytes[i], all.device_type[i],
                       all.device_id[i], all.total_allocated_bytes[i],
                       all.total_reserved_bytes[i]));
    }
  }

  const Trace& trace_;
  std::vector<std::string> lines_;
};

class RoundTrip : public testing::Test {
 protected:
  RoundTrip() {
    std::string name = (std::filesystem::temp_directory_path() / "round_trip_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~RoundTrip() override { std::filesystem::remove_all(folder_); }

  void expect_same(const Trace& trace, const std::string& file_name, const std::string& what) {
    const std::string path = folder_ + "/" + file_name;
    const auto left_out = find_export_format_of_path(file_name)->write(trace, path);
    ASSERT_TRUE(left_out.ok()) << left_out.status().message();
    EXPECT_TRUE(left_out->empty());
    const auto again = load(path);
    ASSERT_TRUE(again.ok()) << again.status().message();
    const Dump before(trace);
    const Dump after(*again);
    std::vector<std::string> lost;
    std::vector<std::string> added;
    std::set_difference(before.lines().begin(), before.lines().end(), after.lines().begin(),
                        after.lines().end(), std::back_inserter(lost));
    std::set_difference(after.lines().begin(), after.lines().end(), before.lines().begin(),
                        before.lines().end(), std::back_inserter(added));
    EXPECT_EQ(lost.size() + added.size(), 0u) << what << " as " << file_name;
    for (size_t i = 0; i < std::min<size_t>(lost.size(), 3); ++i) ADD_FAILURE() << "- " << lost[i];
    for (size_t i = 0; i < std::min<size_t>(added.size(), 3); ++i)
      ADD_FAILURE() << "+ " << added[i];
  }

  void expect_same_in_all_formats(const Trace& trace, const std::string& what) {
    for (const char* name : {"a.json", "a.json.gz", "a.json.zst", "a.sscope"}) {
      expect_same(trace, name, what);
    }
  }

  std::string folder_;
};

constexpr const char* kEverything = R"json({
"schemaVersion": 1, "displayTimeUnit": "ms", "traceName": "a \"name\"\u00e9",
"baseTimeNanoseconds": 1719853884000000000,
"distributedInfo": {"rank": 0, "world_size": 2},
"deviceProperties": [{"id": 0, "name": "V100", "totalGlobalMem": 34084028416, "computeMajor": 7,
  "computeMinor": 0, "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
  "regsPerBlock": 65536, "regsPerMultiprocessor": 65536, "warpSize": 32,
  "sharedMemPerBlock": 49152, "sharedMemPerMultiprocessor": 98304, "numSms": 80}],
"traceEvents": [
{"ph":"M","name":"process_name","pid":10,"tid":0,"args":{"name":"python"}},
{"ph":"M","name":"process_labels","pid":10,"tid":0,"args":{"labels":"CPU"}},
{"ph":"M","name":"process_sort_index","pid":10,"tid":0,"args":{"sort_index":10}},
{"ph":"M","name":"thread_name","pid":10,"tid":11,"args":{"name":"thread 11 (python)"}},
{"ph":"M","name":"thread_sort_index","pid":10,"tid":11,"args":{"sort_index":-3}},
{"ph":"X","cat":"cpu_op","name":"outer","pid":10,"tid":11,"ts":1000.001,"dur":100.5,
 "args":{"External id":17,"ratio":2.0,"tiny":-1.25e-300,"flag":true,"text":"q\"\\ \n ü","dims":[[1, 2],[]],
         "big":18446744073709551616,"none":null,"negative":-9223372036854775808}},
{"ph":"X","cat":"cpu_op","name":"inner","pid":10,"tid":11,"ts":1000.001,"dur":50},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":10,"tid":11,"ts":1060.25,"dur":3.125,
 "args":{"correlation":5}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":"stream 7","ts":1070,"dur":12.5,"args":{"stream":7}},
{"ph":"X","cat":"kernel","name":"long","pid":0,"tid":7,"ts":1090,"dur":9000000.001},
{"ph":"B","cat":"user_annotation","name":"begun","pid":10,"tid":12,"ts":1001},
{"ph":"E","pid":10,"tid":12,"ts":1002.5,"args":{"late":1}},
{"ph":"i","cat":"x","name":"moment","pid":10,"tid":12,"ts":1003,"s":"p","args":{"k":"v"}},
{"ph":"i","name":"bare","pid":"Traces","tid":"Trace PyTorch Profiler","ts":1004},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":10,"tid":12,"ts":999,"dur":1000},
{"ph":"C","name":"memory","pid":10,"tid":0,"ts":1000,"args":{"used":1.5,"free":7}},
{"ph":"C","name":"memory","pid":10,"tid":0,"ts":1001,"args":{"used":0.1,"free":6}},
{"ph":"s","id":5,"cat":"ac2g","name":"ac2g","pid":10,"tid":11,"ts":1060.25},
{"ph":"f","id":5,"cat":"ac2g","name":"ac2g","pid":0,"tid":"stream 7","ts":1070,"bp":"e"},
{"ph":"s","id":6,"cat":"chain","name":"chain","pid":10,"tid":11,"ts":1010},
{"ph":"t","id":6,"cat":"chain","name":"chain","pid":10,"tid":12,"ts":1020},
{"ph":"f","id":6,"cat":"chain","name":"chain","pid":0,"tid":"stream 7","ts":1071,"bp":"e"},
{"ph":"s","id":"0x1f","cat":"next","name":"next","pid":10,"tid":12,"ts":1001.5},
{"ph":"f","id":"0x1f","cat":"next","name":"next","pid":10,"tid":11,"ts":1055},
{"ph":"s","id2":{"local":"0x1"},"cat":"local","name":"local","pid":10,"tid":11,"ts":1001},
{"ph":"s","id2":{"local":"0x1"},"cat":"local","name":"local","pid":0,"tid":7,"ts":1091},
{"ph":"f","id2":{"local":"0x1"},"cat":"local","name":"local","pid":10,"tid":11,"ts":1061,"bp":"e"},
{"ph":"f","id2":{"local":"0x1"},"cat":"local","name":"local","pid":0,"tid":7,"ts":1095,"bp":"e"},
{"ph":"b","cat":"io","name":"read","id":1,"pid":10,"tid":12,"ts":1000,"args":{"file":"a"}},
{"ph":"b","cat":"io","name":"wait","id":1,"pid":10,"tid":12,"ts":1010},
{"ph":"n","cat":"io","name":"mark","id":1,"pid":10,"tid":12,"ts":1012},
{"ph":"b","cat":"io","name":"read","id":"0x2","pid":10,"tid":12,"ts":1015},
{"ph":"e","cat":"io","name":"wait","id":1,"pid":10,"tid":12,"ts":1020},
{"ph":"e","cat":"io","name":"read","id":1,"pid":10,"tid":12,"ts":1030},
{"ph":"e","cat":"io","name":"read","id":"0x2","pid":10,"tid":12,"ts":1040},
{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":10,"tid":11,"ts":1005,
 "args":{"Total Reserved":4096,"Total Allocated":512,"Bytes":512,"Addr":140234,"Device Id":0,"Device Type":1}},
{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":10,"tid":11,"ts":1006.5,
 "args":{"Bytes":-512,"Addr":140234,"Device Id":-1,"Device Type":0}}
]})json";

TEST_F(RoundTrip, KeepsEverythingThatAFileCanHold) {
  const auto trace = load_bytes(kEverything, "everything.json");
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  EXPECT_EQ(trace->flows().from.size(), 6u);
  EXPECT_EQ(trace->allocations().bytes.size(), 2u);
  EXPECT_FALSE(trace->stats().has_faults());
  expect_same_in_all_formats(*trace, "everything");
  expect_same(*trace, "a.pt.trace.json", "everything");
}

TEST_F(RoundTrip, AddsToTheKinetoLayoutWhatItsReadersLookFor) {
  const auto trace =
      load_bytes(R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2}])", "bare");
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  const std::string path = folder_ + "/a.pt.trace.json";
  ASSERT_TRUE(find_export_format("kineto")->write(*trace, path).ok());
  const auto again = load(path);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->find_metadata("schemaVersion"), "1");
  EXPECT_EQ(again->find_metadata("deviceProperties"), "[]");
  EXPECT_EQ(again->find_metadata("displayTimeUnit"), "ms");
  EXPECT_EQ(again->slices().size(), 1u);
}

TEST_F(RoundTrip, KeepsTheKindsOfWhatWasNeverJson) {
  TraceBuilder builder;
  const TrackId thread = builder.add_thread(ForeignId{1}, ForeignId{2});
  builder.add_slice(thread, 0, 100,
                    builder.label("conv", "ConvolutionForward", SliceKind::kOperator));
  builder.add_slice(thread, 10, 20, builder.label("launch", "", SliceKind::kRuntime));
  builder.add_slice(thread, 50, 20, builder.label("own", "mine", SliceKind::kOther));
  builder.set_format("MegEngine static profile");
  const Trace trace = std::move(builder).finish();
  const std::string path = folder_ + "/a.json";
  ASSERT_TRUE(find_export_format("chrome")->write(trace, path).ok());
  const auto again = load(path);
  ASSERT_TRUE(again.ok()) << again.status().message();
  ASSERT_EQ(again->slices().size(), 3u);
  const auto label = [&](uint32_t row) { return again->labels()[again->slices().label[row]]; };
  EXPECT_EQ(label(0).kind, SliceKind::kOperator);
  EXPECT_EQ(label(1).kind, SliceKind::kRuntime);
  EXPECT_EQ(label(2).kind, SliceKind::kOther);
  EXPECT_EQ(again->string(label(2).category), "mine");
  const ArgColumn* category = again->find_args("category", ArgType::kString);
  ASSERT_NE(category, nullptr);
  ASSERT_EQ(category->rows.size(), 1u);
  EXPECT_EQ(again->string(category->string(0)), "ConvolutionForward");
}

TEST_F(RoundTrip, KeepsRealTraces) {
  const std::filesystem::path data = std::filesystem::path("..") / "shared" / "data";
  if (!std::filesystem::exists(data)) GTEST_SKIP() << "no sample traces in ../shared/data";
  size_t traces = 0;
  for (const char* folder : {"hta", "megengine"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(data / folder)) {
      const std::string path = entry.path().string();
      const bool is_trace = path.ends_with(".json") || path.ends_with(".json.gz");
      if (!is_trace || entry.file_size() > 100'000) continue;
      const auto trace = load(path);
      if (!trace) continue;  // not every JSON file there is a trace
      ++traces;
      expect_same(*trace, "a.sscope", path);
      if (trace->format().ends_with("JSON")) expect_same(*trace, "a.json", path);
    }
  }
  EXPECT_GT(traces, 10u);
}

}  // namespace
}  // namespace stepscope::cli
