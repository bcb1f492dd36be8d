#include "ingest/load.h"

#include <gtest/gtest.h>
#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <filesystem>
#include <map>
#include <string>

#include "ingest/trace_for_tests.h"

namespace stepscope {
namespace {

// The tests run in the checkout's root.
constexpr const char* kShared = "../shared/data/";

#define LOAD_SHARED_OR_SKIP(name, trace)                              \
  if (!std::filesystem::exists(std::string(kShared) + (name)))        \
    GTEST_SKIP() << "no sample traces in ../shared/data";             \
  Result<Trace> trace##_loaded = load(std::string(kShared) + (name)); \
  ASSERT_TRUE(trace##_loaded) << trace##_loaded.status().message();   \
  const Trace& trace = *trace##_loaded

std::string make_events(int count) {
  std::string text = "[";
  for (int i = 0; i < count; ++i) {
    text += (i == 0 ? "" : ",\n") +
            (R"({"ph":"X","name":"a","ts":)" + std::to_string(i * 7919 % 9999)) + R"(,"dur":1})";
  }
  return text + "]";
}

std::string gzip(std::string_view text) {
  isal_zstream stream;
  isal_deflate_init(&stream);
  std::string out(text.size() + 4096, '\0');
  stream.gzip_flag = IGZIP_GZIP;
  stream.end_of_stream = 1;
  stream.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uint32_t>(text.size());
  stream.next_out = reinterpret_cast<uint8_t*>(out.data());
  stream.avail_out = static_cast<uint32_t>(out.size());
  EXPECT_EQ(isal_deflate(&stream), COMP_OK);
  out.resize(out.size() - stream.avail_out);
  return out;
}

int64_t total_ns(const Trace& trace, SliceKind kind) {
  int64_t sum = 0;
  for (uint32_t row = 0; row < trace.slices().size(); ++row) {
    if (trace.labels()[trace.slices().label[row]].kind == kind) sum += trace.slices().dur_ns[row];
  }
  return sum;
}

uint64_t count(const Trace& trace, SliceKind kind) {
  uint64_t sum = 0;
  for (uint32_t row = 0; row < trace.slices().size(); ++row) {
    sum += trace.labels()[trace.slices().label[row]].kind == kind;
  }
  return sum;
}

TEST(Load, CompressedFilesAreSeenThrough) {
  const std::string text = make_events(5000);
  const std::string expected = as_text(load_json(text));
  EXPECT_EQ(as_text(load_json(gzip(text))), expected);
  std::string zstd(ZSTD_compressBound(text.size()), '\0');
  zstd.resize(ZSTD_compress(zstd.data(), zstd.size(), text.data(), text.size(), 3));
  EXPECT_EQ(as_text(load_json(zstd)), expected);
}

TEST(Load, ACutGzipKeepsTheEventsBeforeTheCutAndSaysSo) {
  const std::string whole = gzip(make_events(5000));
  const Trace trace = load_json(std::string_view(whole).substr(0, whole.size() / 2));
  EXPECT_GT(trace.slices().size(), 100u);
  EXPECT_LT(trace.slices().size(), 5000u);
  EXPECT_GT(stat(trace, Stat::kBytesTruncated), 0u);
  bool said = false;
  for (const std::string& note : trace.stats().notes()) {
    said |= note.find("gzip data ends too early") != std::string::npos;
  }
  EXPECT_TRUE(said);
}

TEST(Load, FaultsAreOneLineThatNamesTheFile) {
  EXPECT_EQ(load("/nonexistent/t.json").status().message(), "/nonexistent/t.json: no such file");
  EXPECT_EQ(load_fault(""), "test.json: the file is empty");
  EXPECT_EQ(load_fault("\x7f"
                       "ELF junk"),
            "test.json: not a trace in a format that stepscope knows (it begins 7f 45 4c 46 20 6a "
            "75 6e)");
  EXPECT_EQ(load_fault("hello"),
            "test.json: not a trace in a format that stepscope knows (it begins 68 65 6c 6c 6f)");
}

TEST(Load, BinaryFileThatWasSavedAsTextIsToldApart) {
  const std::string fault = load_fault("\n\xEF\xBF\xBD\xEF\xBF\xBD\x06\b\x02\x12");
  EXPECT_NE(fault.find("as when a binary file is saved as text"), fault.npos) << fault;
}

TEST(Load, ReadsWhatViztracerWrites) {
  Result<Trace> loaded = load("tests/data/ingest/viztracer_1.1.1_tiny.json");
  ASSERT_TRUE(loaded) << loaded.status().message();
  const Trace& trace = *loaded;
  EXPECT_EQ(trace.format(), "viztracer JSON");
  EXPECT_EQ(count(trace, SliceKind::kPython), 71u);
  EXPECT_EQ(total_ns(trace, SliceKind::kPython), 2'485'461);
  EXPECT_EQ(count(trace, SliceKind::kInstant), 1u);
  EXPECT_EQ(counters_as_text(trace), "rows.value 3391513337091 42.000000\n");
  EXPECT_FALSE(trace.stats().has_faults());
  std::map<std::string, uint32_t> calls;
  for (const Track& track : trace.tracks()) {
    if (track.slice_count > 0) calls[std::string(trace.string(track.name))] = track.slice_count;
  }
  EXPECT_EQ(calls, (std::map<std::string, uint32_t>{{"MainThread", 60}, {"other thread", 12}}));
}

TEST(Load, ReadsMegEnginesStaticProfile) {
  Result<Trace> loaded = load("tests/data/megengine/static_infer.json.gz");
  ASSERT_TRUE(loaded) << loaded.status().message();
  const Trace& trace = *loaded;
  EXPECT_EQ(trace.format(), "MegEngine static profile");
  EXPECT_EQ(count(trace, SliceKind::kKernel), 30u);
  EXPECT_EQ(count(trace, SliceKind::kOperator), 30u);
  EXPECT_EQ(total_ns(trace, SliceKind::kKernel), 973'000);
  EXPECT_EQ(total_ns(trace, SliceKind::kOperator), 1'076'000);
  EXPECT_EQ(trace.flows().id.size(), 30u);
  ASSERT_EQ(trace.tracks().size(), 2u);
  EXPECT_EQ(trace.tracks()[1].kind, TrackKind::kStream);
  EXPECT_EQ(trace.tracks()[1].device, 0);
  EXPECT_EQ(trace.tracks()[1].stream, 0);
  EXPECT_EQ(trace.string(trace.tracks()[1].name), R"(CompNode("cpu0:0" from "xpux:0"))");
  const ArgColumn* computation = trace.find_args("computation", ArgType::kInt);
  ASSERT_NE(computation, nullptr);
  EXPECT_EQ(computation->rows.size(), 2u * 7u);
  for (uint32_t row = 0; row < trace.slices().size(); ++row) {
    const Label& label = trace.labels()[trace.slices().label[row]];
    if (trace.string(label.name) != "fc.ADD" || label.kind != SliceKind::kKernel) continue;
    EXPECT_EQ(trace.string(label.category), "Elemwise");
    EXPECT_EQ(slice_as_text(trace, row), "fc.ADD 9727000+1000");
    EXPECT_EQ(
        args_of(trace, SliceId{row}),
        (std::vector<std::string>{"computation=40", "id=78", "in_shapes=[[4,10],[10]]", "kern_ns=0",
                                  "memory=360", "opr_place=1", "out_shapes=[[4,10]]",
                                  R"(param={"mode":"ADD"})", "type='Elemwise'"}));
  }
}

TEST(Load, TotalsOfMegEnginesTrainingProfileAreThoseOfItsOwnTool) {
  LOAD_SHARED_OR_SKIP("megengine/static_train.json", trace);
  // analyze/top5.txt: total device time 0.008476, total host time 0.007901
  EXPECT_EQ(total_ns(trace, SliceKind::kKernel), 8'476'000);
  EXPECT_EQ(total_ns(trace, SliceKind::kOperator), 7'901'000);
  EXPECT_EQ(count(trace, SliceKind::kKernel), 124u);
}

TEST(Load, DamagedMegEngineProfilesAreOneClearLine) {
  const std::string fault = load_fault(R"({"profiler":{"device":{)");
  EXPECT_TRUE(fault.starts_with("test.json: a MegEngine profile, but not valid JSON: ")) << fault;
  EXPECT_EQ(load_fault(R"({"profiler":{"host":{}}})"),
            "test.json: a MegEngine profile without \"profiler\".\"device\"");
  const Trace trace = load_json(
      R"({"profiler":{"device":{"1":{"c":{"start":1,"end":2}},"2":{"c":{"start":"x"}},"3":5,"4":{"c":[]},
          "5":{"c":{"start":-1e300,"end":1e300,"kern":1e300}}},"host":7},"graph_exec":{"operator":[]}})");
  EXPECT_EQ(trace.slices().size(), 2u);
  EXPECT_EQ(stat(trace, Stat::kEventsSkipped), 3u);
}

TEST(Load, ReadsTorchsRawMemoryTimeline) {
  LOAD_SHARED_OR_SKIP("hta/memory_analysis/memory_timeline.raw.gz", trace);
  EXPECT_EQ(trace.format(), "PyTorch memory timeline");
  EXPECT_EQ(stat(trace, Stat::kEventsRead), 16845u);
  EXPECT_FALSE(trace.stats().has_faults());
  EXPECT_EQ(trace.allocations().time_ns.size(), 7335u);
  EXPECT_EQ(trace.begin_ns(), 1696966047096061874);
  EXPECT_EQ(trace.end_ns(), 1696966048083248105);
  std::map<std::string, std::pair<double, double>> peak_and_last;
  for (const Track& track : trace.tracks()) {
    auto& [peak, last] = peak_and_last[std::string(trace.string(track.series))];
    for (uint64_t i = track.first_value; i < track.first_value + track.value_count; ++i) {
      last = trace.counters().value[i];
      peak = std::max(peak, last);
    }
  }
  EXPECT_EQ(peak_and_last["total"], std::pair(3082832104.0, 332060904.0));
  EXPECT_EQ(peak_and_last["activation"], std::pair(2746497024.0, 128000.0));
  EXPECT_EQ(peak_and_last["parameter"], std::pair(102440608.0, 102440608.0));
  EXPECT_EQ(peak_and_last["unknown"].second, 424.0);
}

TEST(Load, AMemoryTimelineWithFaultsKeepsTheRest) {
  const Trace trace = load_json(
      "[[-1, 1, 100, 0], [-1,1,50,7] , [10, 2, 30, 4],[20,3,-30,4],\n[20,3,30,5], [1,2], "
      "[30,9,1,1],"
      "[30,2,1,8],[30,2,1.5,1], 7, [1,[2],3,4], [40,4,-100,0], [50,2");
  EXPECT_EQ(counters_as_text(trace),
            "memory.parameter 10 100.000000\nmemory.parameter 40 0.000000\n"
            "memory.optimizer state 10 0.000000\nmemory.input 10 0.000000\n"
            "memory.temporary 10 0.000000\nmemory.activation 10 0.000000\n"
            "memory.activation 10 30.000000\nmemory.activation 20 0.000000\n"
            "memory.gradient 10 0.000000\nmemory.gradient 20 30.000000\n"
            "memory.autograd detail 10 0.000000\nmemory.unknown 10 50.000000\n"
            "memory.total 10 150.000000\nmemory.total 10 180.000000\nmemory.total 20 150.000000\n"
            "memory.total 20 180.000000\nmemory.total 40 80.000000\n");
  EXPECT_EQ(trace.allocations().bytes, (std::vector<int64_t>{100, 50, 30, -100}));
  EXPECT_EQ(stat(trace, Stat::kEventsSkipped), 6u);
  EXPECT_EQ(stat(trace, Stat::kBytesTruncated), 5u);
}

TEST(Load, ReadsMegEnginesTimelines) {
  LOAD_SHARED_OR_SKIP("megengine/default.chrome_timeline.json", trace);
  EXPECT_GT(trace.slices().size(), 1000u);
  EXPECT_GT(count(trace, SliceKind::kKernel), 0u);
  std::map<std::string, int> threads;
  for (const Track& track : trace.tracks()) ++threads[std::string(trace.string(track.name))];
  EXPECT_EQ(threads["interpreter"], 1);
  EXPECT_EQ(threads["worker"], 1);
  EXPECT_EQ(threads["nr_alive_tensor"], 1);
}

}  // namespace
}  // namespace stepscope
