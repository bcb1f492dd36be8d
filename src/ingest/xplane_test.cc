#include "ingest/xplane.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "ingest/load.h"
#include "ingest/trace_for_tests.h"
#include "ingest/xplane_for_tests.h"
#include "trace/trace_builder.h"

namespace stepscope {
namespace {

constexpr int64_t kEpochNs = 1'700'000'000'000'000'000;

Trace load_profile(const std::string& bytes) {
  Result<Trace> trace = load_bytes(bytes, "test.xplane.pb");
  EXPECT_TRUE(trace) << trace.status().message();
  return trace ? *std::move(trace) : std::move(TraceBuilder()).finish();
}
Trace load_profile(const PlaneForTests& plane) {
  return load_profile(SpaceForTests().add(plane).bytes());
}

// "name category kind" of each slice.
std::vector<std::string> labels_of(const Trace& trace) {
  std::vector<std::string> texts;
  for (const LabelId id : trace.slices().label) {
    const Label& label = trace.labels()[id];
    texts.push_back(std::string(trace.string(label.name)) + "|" +
                    std::string(trace.string(label.category)) + "|" +
                    std::string(kind_name(label.kind)));
  }
  return texts;
}

std::string notes_of(const Trace& trace) {
  std::string text;
  for (const std::string& note : trace.stats().notes()) text += note + "\n";
  return text;
}

TEST(Xplane, AHostPlaneIsAProcessAndALineAThread) {
  PlaneForTests plane("/host:CPU");
  plane.line(7, "python", 6000).event("outer", 1'500, 10'000'999);
  LineForTests& line = plane.line(0xF000000000000001u, "tf_Compute/-1152921504606846975", 6000);
  line.event("a", 0, 2000);
  const Trace trace = load_profile(plane);
  EXPECT_EQ(trace.format(), "XPlane");
  ASSERT_EQ(trace.processes().size(), 1u);
  EXPECT_EQ(trace.processes()[0].pid.number, 1);
  EXPECT_EQ(trace.string(trace.processes()[0].name), "/host:CPU");
  ASSERT_EQ(trace.tracks().size(), 2u);
  EXPECT_EQ(trace.tracks()[0].kind, TrackKind::kThread);
  EXPECT_EQ(trace.tracks()[0].tid.number, 7);
  EXPECT_EQ(trace.tracks()[1].tid.number, -0x0FFFFFFFFFFFFFFF);
  EXPECT_EQ(trace.string(trace.tracks()[1].name), "tf_Compute");
  // Begin and end are rounded down, each for itself: 6001.5 and 16002.499.
  EXPECT_EQ(slices_as_text(trace), "outer 6001+10001\na 6000+2\n");
  EXPECT_EQ(stat(trace, Stat::kEventsRead), 2u);
  EXPECT_FALSE(trace.stats().has_faults());
}

TEST(Xplane, TouchingEventsStayNestedWhenTheyAreRounded) {
  PlaneForTests plane("/host:CPU");
  LineForTests& line = plane.line(1, "t");
  line.event("outer", 100, 4'800);
  line.event("first", 100, 1'950);
  line.event("second", 2'050, 2'850);
  EXPECT_EQ(slices_as_text(load_profile(plane)), "outer 0+4\n first 0+2\n second 2+2\n");
}

TEST(Xplane, StatsOfEveryTypeAreArguments) {
  PlaneForTests plane("/host:CPU");
  plane.line(1, "t")
      .event("a", 0, 1000)
      .stat("signed", int64_t{-5})
      .stat("unsigned", uint64_t{0xF000000000000000u})
      .stat("double", 0.5)
      .stat("text", std::string_view("hello"))
      .stat("reference", Reference{"a name"})
      .stat("bytes", Bytes{"\0\1"});
  const Trace trace = load_profile(plane);
  EXPECT_EQ(args_of(trace, SliceId{0}),
            (std::vector<std::string>{"double=0.500000", "reference='a name'", "signed=-5",
                                      "text='hello'", "unsigned=-1152921504606846976"}));
  EXPECT_EQ(notes_of(trace), "stats that are bytes are no arguments: 'bytes'\n");
}

TEST(Xplane, NumbersOfEveryLengthAreReadAsTheyAre) {
  PlaneForTests plane("/host:CPU");
  LineForTests& line = plane.line(1, "t");
  std::vector<int64_t> values;
  for (int bit = 0; bit < 64; ++bit) {
    for (const uint64_t value :
         {uint64_t{1} << bit, (uint64_t{1} << bit) - 1, ~uint64_t{0} << bit}) {
      values.push_back(static_cast<int64_t>(value));
      line.event("a", 1000 * static_cast<int64_t>(values.size()), 1).stat("k", value);
    }
  }
  const Trace trace = load_profile(plane);
  const ArgColumn* column = trace.find_args("k", ArgType::kInt);
  ASSERT_NE(column, nullptr);
  ASSERT_EQ(column->rows.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(column->ints[i], values[i]) << i;
}

TEST(Xplane, NamesMayComeBeforeTheLinesOrAfterThem) {
  const auto make = [](bool names_first) {
    PlaneForTests plane("/host:CPU");
    if (names_first) plane.names_first();
    plane.line(1, "t").event("a", 0, 1000).stat("k", int64_t{1});
    return as_text(load_profile(plane));
  };
  EXPECT_EQ(make(true), make(false));
}

TEST(Xplane, EventsOfAHostAreLabelledByWhatTheyAre) {
  PlaneForTests plane("/host:CPU");
  LineForTests& line = plane.line(1, "python");
  int64_t at = 0;
  const auto next = [&](std::string_view name) -> EventForTests& {
    return line.event(name, at += 2000, 1000);
  };
  next("train").stat("step_num", int64_t{5});
  next("Iterator::Root::Prefetch::Range").stat("id", int64_t{1});
  next("StatefulPartitionedCall/MatMul:MatMul");
  next("a b/c:_FusedMatMul");
  plane.display_name("a b/c:_FusedMatMul", "_FusedMatMul");
  next("a b:MatMul");
  next("EagerLocalExecute: MatMul");
  next("fusion.3").stat("hlo_op", Reference{"fusion.3"});
  next("$train.py:12 <lambda>");
  next("$<unknown> __exit__");
  next("$time sleep");
  next("$");
  next("ThreadpoolListener::Record");
  next("ExecutorState::Process");
  next("cuLaunchKernel").stat("correlation_id", int64_t{44});
  line.event("moment", at += 2000, 0);
  line.event("Iterator::Root", at += 2000, 0);
  EXPECT_EQ(labels_of(load_profile(plane)), (std::vector<std::string>{
                                                "train#5|step|step",
                                                "Iterator::Root::Prefetch::Range|tf_data|other",
                                                "MatMul|tf_op|operator",
                                                "_FusedMatMul|tf_op|operator",
                                                "a b:MatMul||other",
                                                "EagerLocalExecute: MatMul||other",
                                                "fusion.3|xla_op|operator",
                                                "train.py(12): <lambda>|python_function|python",
                                                "<unknown> __exit__|python_function|python",
                                                "time.sleep|python_function|python",
                                                "$||other",
                                                "ThreadpoolListener::Record||instant",
                                                "ExecutorState::Process|executor|call",
                                                "cuLaunchKernel|cuda_runtime|runtime",
                                                "moment||instant",
                                                "Iterator::Root|tf_data|other",
                                            }));
}

TEST(Xplane, AnOperatorKeepsItsWholeNameAsAnArgument) {
  PlaneForTests plane("/host:CPU");
  plane.line(1, "t").event("model/dense/MatMul:MatMul", 0, 1000);
  EXPECT_EQ(args_of(load_profile(plane), SliceId{0}),
            std::vector<std::string>{"op_name='model/dense/MatMul:MatMul'"});
}

TEST(Xplane, OneNameOfSeveralKindsIsSeveralLabels) {
  PlaneForTests plane("/host:CPU");
  LineForTests& line = plane.line(1, "t");
  line.event("work", 0, 1000);
  line.event("work", 2000, 0);
  line.event("work", 4000, 1000).stat("hlo_op", Reference{"work"});
  line.event("work", 6000, 1000).stat("step_num", int64_t{1});
  line.event("work", 8000, 1000).stat("step_num", int64_t{2});
  line.event("work", 10000, 1000);
  EXPECT_EQ(labels_of(load_profile(plane)),
            (std::vector<std::string>{"work||other", "work||instant", "work|xla_op|operator",
                                      "work#1|step|step", "work#2|step|step", "work||other"}));
}

TEST(Xplane, FewStatsOfTheMetadataAreArgumentsOfEachEvent) {
  PlaneForTests plane("/host:CPU");
  LineForTests& line = plane.line(1, "t");
  line.event("few", 0, 1000);
  line.event("few", 2000, 1000);
  line.event("bytes", 4000, 1000);
  line.event("many", 6000, 1000);
  plane.metadata_stat("few", "flops", int64_t{64});
  plane.metadata_stat("bytes", "flops", int64_t{64}).metadata_stat("bytes", "proto", Bytes{"x"});
  for (const char* key : {"a", "b", "c", "d", "e"}) plane.metadata_stat("many", key, int64_t{1});
  const Trace trace = load_profile(plane);
  for (const uint32_t row : {0u, 1u}) {
    EXPECT_EQ(args_of(trace, SliceId{row}), std::vector<std::string>{"flops=64"});
  }
  for (const uint32_t row : {2u, 3u}) EXPECT_TRUE(args_of(trace, SliceId{row}).empty());
}

TEST(Xplane, AGpusStreamsHaveKernelsAndCopies) {
  PlaneForTests host("/host:CPU");
  host.line(1, "python").event("cuLaunchKernel", 0, 1000).stat("correlation_id", int64_t{9});
  PlaneForTests gpu("/device:GPU:1");
  gpu.stat("memory_size", uint64_t{1} << 34).stat("compute_cap_major", int64_t{9});
  gpu.stat("core_count", int64_t{132});
  LineForTests& stream = gpu.line(14, "Stream #14(Compute,MemcpyH2D)", 1);
  stream.event("void gemm<float>", 0, 5000).stat("correlation_id", int64_t{9});
  stream.event("MemcpyH2D", 6000, 1000);
  stream.event("Memset", 8000, 1000);
  gpu.line(1000, "XLA Modules", 1).event("jit_step", 0, 9000);
  const Trace trace = load_profile(SpaceForTests().add(host).add(gpu).bytes());
  EXPECT_EQ(labels_of(trace),
            (std::vector<std::string>{"cuLaunchKernel|cuda_runtime|runtime",
                                      "void gemm<float>|kernel|kernel",
                                      "MemcpyH2D|gpu_memcpy|memcpy", "Memset|gpu_memset|memset",
                                      "jit_step|XLA Modules|device_annotation"}));
  ASSERT_EQ(trace.tracks().size(), 3u);
  EXPECT_EQ(trace.tracks()[1].kind, TrackKind::kStream);
  EXPECT_EQ(trace.tracks()[1].device, 1);
  EXPECT_EQ(trace.tracks()[1].stream, 14);
  EXPECT_EQ(trace.tracks()[2].kind, TrackKind::kStream);
  EXPECT_EQ(trace.tracks()[2].stream, -1);
  for (const uint32_t row : {0u, 1u}) {
    EXPECT_EQ(args_of(trace, SliceId{row}),
              (std::vector<std::string>{"correlation=9", "correlation_id=9"}));
  }
  ASSERT_EQ(trace.devices().size(), 1u);
  EXPECT_EQ(trace.devices()[0].id, 1);
  EXPECT_EQ(trace.devices()[0].total_memory_bytes, int64_t{1} << 34);
  EXPECT_EQ(trace.devices()[0].compute_major, 9);
  EXPECT_EQ(trace.devices()[0].sm_count, 132);
}

TEST(Xplane, ATpusOperationsAreItsKernels) {
  PlaneForTests tpu("/device:TPU:3");
  tpu.line(2, "Steps").event("7", 0, 9000);
  tpu.line(3, "XLA Ops").event("%fusion.1 = f32[8]{0} fusion(...)", 0, 5000);
  tpu.display_name("%fusion.1 = f32[8]{0} fusion(...)", "fusion.1");
  const Trace trace = load_profile(tpu);
  EXPECT_EQ(labels_of(trace),
            (std::vector<std::string>{"7|Steps|device_annotation", "fusion.1|xla_op|kernel"}));
  EXPECT_EQ(trace.tracks()[1].device, 3);
  EXPECT_EQ(trace.tracks()[1].stream, 3);
}

TEST(Xplane, ControlFlowOfATpuIsNoWorkBesideWhatItCalls) {
  PlaneForTests tpu("/device:TPU:0");
  LineForTests& ops = tpu.line(3, "XLA Ops");
  ops.event("while.2", 0, 5000);
  ops.event("convolution.3", 0, 2000);
  ops.event("call-start.1", 2000, 2000);
  EXPECT_EQ(
      labels_of(load_profile(tpu)),
      (std::vector<std::string>{"while.2|xla_op|device_annotation", "convolution.3|xla_op|kernel",
                                "call-start.1|xla_op|kernel"}));
}

TEST(Xplane, ANameOnLinesOfSeveralKindsIsWhatEachLineSays) {
  PlaneForTests gpu("/device:GPU:0");
  gpu.line(1, "Stream #1").event("work", 0, 1000);
  gpu.line(2, "TensorFlow Ops").event("work", 0, 1000);
  gpu.line(3, "Stream #3").event("work", 0, 1000);
  EXPECT_EQ(labels_of(load_profile(gpu)),
            (std::vector<std::string>{"work|kernel|kernel", "work|TensorFlow Ops|device_annotation",
                                      "work|kernel|kernel"}));
}

TEST(Xplane, TheProfilesStartIsTheClocksBase) {
  PlaneForTests plane("/host:CPU");
  plane.line(1, "t", 5).event("a", 0, 1000);
  const Trace trace = load_profile(SpaceForTests().add(plane).started_at(kEpochNs).bytes());
  EXPECT_EQ(trace.clock_base_ns(), kEpochNs);
  EXPECT_EQ(trace.begin_ns(), 5);
  EXPECT_EQ(trace.find_metadata("Task Environment/profile_start_time"), "1700000000000000000");
  EXPECT_EQ(trace.processes().size(), 1u);
}

TEST(Xplane, LinesMayHaveTimesSince1970) {
  PlaneForTests plane("/host:CPU");
  plane.line(1, "t", kEpochNs + 70).event("a", 0, 1000);
  plane.line(2, "u", kEpochNs + 50).event("b", 0, 1000);
  const Trace trace = load_profile(plane);
  EXPECT_EQ(trace.clock_base_ns(), kEpochNs + 50);
  EXPECT_EQ(slices_as_text(trace), "a 20+1\nb 0+1\n");
  const Trace with_start = load_profile(SpaceForTests().add(plane).started_at(kEpochNs).bytes());
  EXPECT_EQ(with_start.clock_base_ns(), kEpochNs);
  EXPECT_EQ(slices_as_text(with_start), "a 70+1\nb 50+1\n");
}

TEST(Xplane, EventsOutOfOrderAreSortedAndKeepTheirArguments) {
  PlaneForTests plane("/host:CPU");
  LineForTests& line = plane.line(1, "t");
  line.event("late", 9000, 1000).stat("k", int64_t{2});
  line.event("early", 1000, 1000).stat("k", int64_t{1});
  const Trace trace = load_profile(plane);
  EXPECT_EQ(slices_as_text(trace), "early 1+1\nlate 9+1\n");
  EXPECT_EQ(args_of(trace, SliceId{0}), std::vector<std::string>{"k=1"});
  EXPECT_EQ(args_of(trace, SliceId{1}), std::vector<std::string>{"k=2"});
}

TEST(Xplane, SumsOfEventsAreLeftOutAndSaidSo) {
  PlaneForTests plane("/host:CPU");
  LineForTests& line = plane.line(1, "sums");
  line.event("a", 0, 1000);
  line.aggregate("b", 100, 5000);
  line.aggregate("b", 100, 5000);
  const Trace trace = load_profile(plane);
  EXPECT_EQ(slices_as_text(trace), "a 0+1\n");
  EXPECT_EQ(stat(trace, Stat::kEventsRead), 3u);
  EXPECT_EQ(stat(trace, Stat::kEventsSkipped), 2u);
  EXPECT_NE(notes_of(trace).find("'sums' has sums of events"), std::string::npos);
}

TEST(Xplane, HostileIdsAndTimesAreHarmless) {
  PlaneForTests plane("/host:CPU");
  plane.next_event_id(uint64_t{1} << 60);
  LineForTests& line = plane.line(1, "t", INT64_MAX / 2);
  line.event("far", 0, 1000);
  line.event_of_id(77, 1000, 1000);
  line.event_of_id(UINT64_MAX, 2000, 1000);
  line.event("far", INT64_MAX, INT64_MAX);
  line.event("far", INT64_MIN, 1000);
  line.event("negative", 5000, -1000);
  line.event("far", 6000, 1000).raw(std::string("\x22\x04\x08\x63\x38\x63", 6));  // unknown stats
  const Trace trace = load_profile(plane);
  EXPECT_EQ(trace.slices().size(), 7u);
  std::set<std::string> names;
  for (const std::string& label : labels_of(trace)) names.insert(label.substr(0, label.find('|')));
  EXPECT_EQ(names,
            (std::set<std::string>{"far", "event 77", "event 18446744073709551615", "negative"}));
  EXPECT_EQ(stat(trace, Stat::kDurationsNegative), 1u);
  EXPECT_EQ(stat(trace, Stat::kValuesSkipped), 1u);
}

TEST(Xplane, TheLastOfTwoNamesOfOneIdWins) {
  PlaneForTests plane("/host:CPU");
  plane.line(1, "t").event("first", 0, 1000);
  plane.next_event_id(1).event_id("second");
  EXPECT_EQ(slices_as_text(load_profile(plane)), "second 0+1\n");
}

TEST(Xplane, NamesThatAreNoTextAreMended) {
  PlaneForTests plane("/host:CPU");
  LineForTests& line = plane.line(1, "t\xff");
  line.event("", 0, 1000);
  line.event("a\xff", 2000, 1000).stat("k", std::string_view("\xc0"));
  const Trace trace = load_profile(plane);
  EXPECT_EQ(slices_as_text(trace), "event 1 0+1\na? 2+1\n");
  EXPECT_EQ(args_of(trace, SliceId{1}), std::vector<std::string>{"k='?'"});
  EXPECT_EQ(trace.string(trace.tracks()[0].name), "t?");
  EXPECT_GT(stat(trace, Stat::kEventsMended), 0u);
}

TEST(Xplane, AnEventThatCanNotBeReadIsSkippedWithItsArguments) {
  PlaneForTests plane("/host:CPU");
  LineForTests& line = plane.line(1, "t");
  line.event("bad", 0, 1000).stat("k", int64_t{1}).raw("\x22\x7f");  // a stat of 127 bytes
  line.event("good", 2000, 1000).stat("k", int64_t{2});
  const Trace trace = load_profile(plane);
  EXPECT_EQ(slices_as_text(trace), "good 2+1\n");
  EXPECT_EQ(args_of(trace, SliceId{0}), std::vector<std::string>{"k=2"});
  EXPECT_EQ(stat(trace, Stat::kEventsSkipped), 1u);
  EXPECT_NE(notes_of(trace).find("cut or damaged"), std::string::npos);
}

TEST(Xplane, AfterTooMuchDamageTheRestIsNotLookedInto) {
  PlaneForTests plane("/host:CPU");
  LineForTests& line = plane.line(1, "t");
  line.event("before", 0, 1000);
  for (int i = 0; i < 100'000; ++i) line.event("bad", 0, 1000).raw("\x22\x7f");
  line.event("after", 2000, 1000);
  const Trace trace = load_profile(SpaceForTests().add(plane).bytes());
  EXPECT_EQ(trace.slices().size(), 1u);
  EXPECT_EQ(stat(trace, Stat::kEventsRead), 100'002u);
  EXPECT_EQ(stat(trace, Stat::kEventsSkipped), 100'001u);
}

// Every prefix of a good profile: nothing crashes, what is whole is kept, and it is said.
TEST(Xplane, ACutFileKeepsWhatIsBeforeTheCut) {
  PlaneForTests plane("/host:CPU");
  plane.names_first();
  for (int line = 0; line < 3; ++line) {
    LineForTests& thread = plane.line(static_cast<uint64_t>(line), "t");
    for (int i = 0; i < 5; ++i) thread.event("a", i * 1000, 1000).stat("k", int64_t{i});
  }
  PlaneForTests other("/host:OTHER");
  other.line(1, "u").event("b", 0, 1000);
  const std::string whole = SpaceForTests().add(plane).add(other).host_name("vm").bytes();
  uint32_t slices = 0;
  uint32_t loaded = 0;
  for (size_t size = 1; size < whole.size(); ++size) {
    const Result<Trace> trace = load_bytes(std::string_view(whole).substr(0, size), "cut");
    if (!trace) continue;
    ++loaded;
    EXPECT_GE(trace->slices().size(), slices) << size;
    slices = trace->slices().size();
    if (slices < 16) {
      EXPECT_GT(trace->stats().get(Stat::kBytesTruncated) + (slices == 15 ? 1 : 0), 0u) << size;
    }
  }
  EXPECT_EQ(slices, 16u);
  EXPECT_GT(loaded, 300u);
}

TEST(Xplane, AFileThatClaimsMoreThanItHasTakesNoMemory) {
  // A plane of 2 GB, a line of 2 GB in it, an event of 2 GB in that.
  const std::string claim = "\xff\xff\xff\xff\x07";
  const std::string bytes =
      "\x0a" + claim + "\x12\x04/cpu\x1a" + claim + "\x08\x01\x22" + claim + "\x08\x01";
  const Trace trace = load_profile(bytes);
  EXPECT_EQ(trace.slices().size(), 0u);
  EXPECT_GT(stat(trace, Stat::kBytesTruncated), 0u);
}

TEST(Xplane, OtherFilesAreNotTakenForOne) {
  PlaneForTests plane("/host:CPU");
  EXPECT_TRUE(looks_like_xplane(SpaceForTests().add(plane).bytes()));
  for (const std::string_view text :
       {"", "\n", "\n{\"traceEvents\": []}", "\n[]", "\n\x04\x08\x01\x10\x02", "main;f 12\n",
        "\n\nmain;f 12\n", "\x0a\x02\x12\x7f", "\x0a\x00", "\x0a\x06\x12\x04/\x01\x02\x03"}) {
    EXPECT_FALSE(looks_like_xplane(text)) << text;
  }
}

TEST(Xplane, WhatTheProfilerComplainsOfIsANote) {
  PlaneForTests plane("/host:CPU");
  plane.line(1, "t").event("a", 0, 1000);
  const Trace trace =
      load_profile(SpaceForTests().add(plane).warning("1000 events were dropped").bytes());
  EXPECT_EQ(notes_of(trace), "the profiler's warning: 1000 events were dropped\n");
}

class XplaneFolder : public testing::Test {
 protected:
  XplaneFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "xplane_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~XplaneFolder() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& bytes) {
    const std::filesystem::path path = folder_ + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  }
  static std::string profile(std::string_view host, std::string_view event, int64_t start_ns = 0) {
    PlaneForTests plane("/host:CPU");
    plane.line(1, "t", 5).event(event, 0, 1000);
    SpaceForTests space;
    space.add(plane);
    if (start_ns != 0) space.started_at(start_ns);
    return space.host_name(host).bytes();
  }
  Trace load_folder(const std::string& below = "") {
    Result<Trace> trace = load(folder_ + below);
    EXPECT_TRUE(trace) << trace.status().message();
    return trace ? *std::move(trace) : std::move(TraceBuilder()).finish();
  }

  std::string folder_;
};

TEST_F(XplaneFolder, SeveralHostsAreOneTraceOnOneClock) {
  write("one.xplane.pb", profile("alpha", "a", kEpochNs + 1000));
  write("two.xplane.pb", profile("beta", "b", kEpochNs));
  const Trace trace = load_folder();
  EXPECT_EQ(trace.clock_base_ns(), kEpochNs);
  EXPECT_EQ(slices_as_text(trace), "a 1005+1\nb 5+1\n");
  ASSERT_EQ(trace.processes().size(), 2u);
  EXPECT_EQ(trace.string(trace.processes()[0].name), "alpha /host:CPU");
  EXPECT_EQ(trace.string(trace.processes()[1].name), "beta /host:CPU");
  EXPECT_EQ(trace.processes()[1].pid.number, 2);
}

TEST_F(XplaneFolder, HostsOfOneNameAreToldApartByTheirFiles) {
  write("one.xplane.pb", profile("vm", "a"));
  write("two.xplane.pb", profile("vm", "b"));
  const Trace trace = load_folder();
  EXPECT_EQ(trace.string(trace.processes()[0].name), "one /host:CPU");
  EXPECT_EQ(trace.string(trace.processes()[1].name), "two /host:CPU");
}

TEST_F(XplaneFolder, AHostWhoseFileIsNoProfileIsLeftOut) {
  write("bad.xplane.pb", "hello");
  write("empty.xplane.pb", "");
  EXPECT_EQ(load(folder_).status().message(), folder_ + "/bad.xplane.pb: not an XPlane profile");
  write("good.xplane.pb", profile("vm", "a"));
  const Trace trace = load_folder();
  EXPECT_EQ(slices_as_text(trace), "a 5+1\n");
  EXPECT_EQ(trace.stats().notes().size(), 2u);
}

TEST_F(XplaneFolder, ALogFolderStandsForItsNewestProfile) {
  write("plugins/profile/2026_01_01_00_00_00/vm.xplane.pb", profile("vm", "old"));
  write("plugins/profile/2026_02_01_00_00_00/vm.xplane.pb", profile("vm", "new"));
  write("plugins/profile/2026_03_01_00_00_00/vm.trace.json.gz", "no profile");
  write("events.out.tfevents.1", "x");
  const Trace trace = load_folder();
  EXPECT_EQ(slices_as_text(trace), "new 5+1\n");
  const std::string runs = folder_ + "/plugins/profile/";
  EXPECT_EQ(notes_of(trace), runs + "2026_02_01_00_00_00 is the newest of 2 profiles in this " +
                                 "folder; to read another, name it: " + runs +
                                 "2026_01_01_00_00_00\n");
  EXPECT_EQ(slices_as_text(load_folder("/plugins/profile/2026_01_01_00_00_00")), "old 5+1\n");
  EXPECT_EQ(slices_as_text(load_folder("/plugins/profile")), "new 5+1\n");
  EXPECT_EQ(slices_as_text(load_folder("/plugins")), "new 5+1\n");
}

TEST_F(XplaneFolder, ProfilesMayBeOneLevelDown) {
  write("train/plugins/profile/2026_01_01_00_00_00/vm.xplane.pb", profile("vm", "train"));
  write("validation/plugins/profile/2026_01_01_00_00_00/vm.xplane.pb", profile("vm", "validation"));
  EXPECT_EQ(slices_as_text(load_folder()), "train 5+1\n");
}

TEST_F(XplaneFolder, AProfileGoesBeforeTheJsonBesideIt) {
  write("vm.trace.json", R"([{"ph":"X","name":"json","ts":1,"dur":1}])");
  EXPECT_EQ(slices_as_text(load_folder()), "json 1000+1000\n");
  write("vm.xplane.pb", profile("vm", "xplane"));
  EXPECT_EQ(slices_as_text(load_folder()), "xplane 5+1\n");
}

TEST_F(XplaneFolder, ARunWithJsonAloneIsRead) {
  write("plugins/profile/2026_01_01_00_00_00/vm.trace.json",
        R"([{"ph":"X","name":"json","ts":1,"dur":1}])");
  EXPECT_EQ(slices_as_text(load_folder()), "json 1000+1000\n");
}

// A mapped file is given back while it is read: names are read again from it.
TEST_F(XplaneFolder, ALargeFileIsTheSameMappedAndFromMemory) {
  PlaneForTests plane("/host:CPU");
  for (int line = 0; line < 2; ++line) {
    LineForTests& thread = plane.line(static_cast<uint64_t>(line), "t");
    for (int i = 0; i < 60'000; ++i) {
      thread.event("event " + std::to_string(i % 50), i * 1000, 1000)
          .stat("k", int64_t{i})
          .stat("text", std::string_view("a text that makes the file larger"));
    }
  }
  const std::string bytes = SpaceForTests().add(plane).bytes();
  write("a.xplane.pb", bytes);
  EXPECT_EQ(as_text(load_folder("/a.xplane.pb")), as_text(load_profile(bytes)));
}

}  // namespace
}  // namespace stepscope
