#include "ingest/event_assembler.h"

#include <gtest/gtest.h>

#include <string>

#include "ingest/trace_for_tests.h"

namespace stepscope {
namespace {

TEST(EventAssembler, CompleteEventsBecomeNestedSlices) {
  const Trace trace = load_json(events(R"(
    {"ph":"X","name":"inner","pid":1,"tid":2,"ts":20,"dur":10},
    {"ph":"X","name":"outer","pid":1,"tid":2,"ts":10,"dur":50},
    {"ph":"X","name":"other","pid":1,"tid":3,"ts":20,"dur":1.5})"));
  EXPECT_EQ(slices_as_text(trace), "outer 10000+50000\n inner 20000+10000\nother 20000+1500\n");
  EXPECT_EQ(trace.tracks().size(), 2u);
  EXPECT_EQ(stat(trace, Stat::kEventsRead), 3u);
  EXPECT_FALSE(trace.stats().has_faults());
}

TEST(EventAssembler, ACompleteEventWithoutADurationHasNone) {
  const Trace trace = load_json(R"([{"ph":"X","name":"a","ts":1}])");
  EXPECT_EQ(slices_as_text(trace), "a 1000+0\n");
}

TEST(EventAssembler, ANegativeDurationIsCountedAndTakenAsNone) {
  const Trace trace = load_json(R"([{"ph":"X","name":"a","ts":1,"dur":-5}])");
  EXPECT_EQ(slices_as_text(trace), "a 1000+0\n");
  EXPECT_EQ(stat(trace, Stat::kDurationsNegative), 1u);
}

TEST(EventAssembler, BeginsMeetTheirEnds) {
  const Trace trace = load_json(R"([
    {"ph":"B","name":"outer","ts":1}, {"ph":"B","name":"inner","ts":2},
    {"ph":"E","ts":3}, {"ph":"E","name":"outer","ts":5}])");
  EXPECT_EQ(slices_as_text(trace), "outer 1000+4000\n inner 2000+1000\n");
}

TEST(EventAssembler, BeginsAndEndsMayStandInAnyOrder) {
  const Trace trace = load_json(R"([
    {"ph":"E","ts":5}, {"ph":"E","ts":3}, {"ph":"B","name":"inner","ts":2},
    {"ph":"B","name":"outer","ts":1}])");
  EXPECT_EQ(slices_as_text(trace), "outer 1000+4000\n inner 2000+1000\n");
  EXPECT_FALSE(trace.stats().has_faults());
}

TEST(EventAssembler, EachThreadHasItsOwnBegins) {
  const Trace trace = load_json(R"([
    {"ph":"B","name":"a","pid":1,"tid":1,"ts":1}, {"ph":"B","name":"b","pid":1,"tid":2,"ts":2},
    {"ph":"E","pid":1,"tid":1,"ts":3}, {"ph":"E","pid":1,"tid":2,"ts":4}])");
  EXPECT_EQ(slices_as_text(trace), "a 1000+2000\nb 2000+2000\n");
}

TEST(EventAssembler, ABeginWithoutAnEndReachesToTheEndOfTheTrace) {
  const Trace trace = load_json(R"([
    {"ph":"B","name":"open","ts":1}, {"ph":"X","name":"x","ts":2,"dur":8}])");
  EXPECT_EQ(slices_as_text(trace), "open 1000+9000\n x 2000+8000\n");
  EXPECT_EQ(stat(trace, Stat::kBeginsWithoutEnd), 1u);
}

TEST(EventAssembler, AnEndWithoutABeginIsCounted) {
  const Trace trace = load_json(R"([{"ph":"E","name":"a","ts":1},{"ph":"X","name":"x","ts":2}])");
  EXPECT_EQ(slices_as_text(trace), "x 2000+0\n");
  EXPECT_EQ(stat(trace, Stat::kEndsWithoutBegin), 1u);
}

TEST(EventAssembler, ArgumentsOfAnEndBelongToTheSliceThatItCloses) {
  const Trace trace = load_json(R"([
    {"ph":"B","name":"a","ts":1,"args":{"in":1,"both":"begin"}},
    {"ph":"E","ts":2,"args":{"out":2,"both":"end"}}])");
  ASSERT_EQ(trace.slices().size(), 1u);
  EXPECT_EQ(args_of(trace, SliceId{0}), (std::vector<std::string>{"both='end'", "in=1", "out=2"}));
}

TEST(EventAssembler, InstantsOfEveryScopeAreMoments) {
  const Trace trace = load_json(R"([
    {"ph":"i","name":"thread","ts":1,"s":"t"}, {"ph":"I","name":"process","ts":2,"s":"p"},
    {"ph":"i","name":"global","ts":3,"s":"g","args":{"x":1}}, {"ph":"R","name":"mark","ts":4}])");
  EXPECT_EQ(slices_as_text(trace), "thread 1000+0\nprocess 2000+0\nglobal 3000+0\nmark 4000+0\n");
  EXPECT_EQ(kind_of_slice(trace, "thread"), SliceKind::kInstant);
  EXPECT_EQ(args_of(trace, SliceId{1}), std::vector<std::string>{"s='p'"});
  EXPECT_EQ(args_of(trace, SliceId{2}), (std::vector<std::string>{"s='g'", "x=1"}));
}

TEST(EventAssembler, ASliceAndAnInstantOfOneNameDifferInKind) {
  const Trace trace = load_json(R"([
    {"ph":"X","name":"a","cat":"cpu_op","ts":1,"dur":1}, {"ph":"i","name":"a","cat":"cpu_op","ts":5}])");
  EXPECT_EQ(trace.labels()[trace.slices().label[0]].kind, SliceKind::kOperator);
  EXPECT_EQ(trace.labels()[trace.slices().label[1]].kind, SliceKind::kInstant);
}

TEST(EventAssembler, ACounterHasATrackPerSeries) {
  const Trace trace = load_json(R"([
    {"ph":"C","name":"mem","pid":1,"ts":2,"args":{"used":20,"free":5.5}},
    {"ph":"C","name":"mem","pid":1,"ts":1,"args":{"used":"10","free":"2.5e1"}},
    {"ph":"C","name":"mem","pid":2,"ts":1,"args":{"used":7}}])");
  EXPECT_EQ(counters_as_text(trace),
            "mem.used 1000 10.000000\nmem.used 2000 20.000000\n"
            "mem.free 1000 25.000000\nmem.free 2000 5.500000\nmem.used 1000 7.000000\n");
}

TEST(EventAssembler, ACounterValueThatIsNoNumberIsCounted) {
  const Trace trace = load_json(R"([
    {"ph":"C","name":"c","ts":1,"args":{"a":"many","b":null,"c":"nan","d":NaN,"e":[1],"f":3}}])");
  EXPECT_EQ(counters_as_text(trace), "c.f 1000 3.000000\n");
  EXPECT_EQ(stat(trace, Stat::kValuesSkipped), 5u);
}

TEST(EventAssembler, CountersOfOneNameAndTwoIdsAreTwo) {
  const Trace trace = load_json(R"([
    {"ph":"C","name":"q","id":1,"ts":1,"args":{"n":1}}, {"ph":"C","name":"q","id":"0x2","ts":1,"args":{"n":2}}])");
  EXPECT_EQ(counters_as_text(trace), "q id 1.n 1000 1.000000\nq id 2.n 1000 2.000000\n");
}

TEST(EventAssembler, MetadataNamesProcessesAndThreads) {
  const Trace trace = load_json(R"([
    {"ph":"X","name":"a","pid":1,"tid":2,"ts":1},
    {"ph":"M","name":"process_name","pid":1,"tid":2,"args":{"name":"python"}},
    {"ph":"M","name":"process_labels","pid":1,"tid":2,"args":{"labels":"GPU 0"}},
    {"ph":"M","name":"process_sort_index","pid":1,"tid":2,"args":{"sort_index":-3}},
    {"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"ma\u0069n"}},
    {"ph":"M","name":"thread_sort_index","pid":1,"tid":2,"args":{"sort_index":9}}])");
  ASSERT_EQ(trace.tracks().size(), 1u);
  const Track& track = trace.tracks()[0];
  const Process& process = trace.processes()[track.process];
  EXPECT_EQ(trace.string(process.name), "python");
  EXPECT_EQ(trace.string(process.labels), "GPU 0");
  EXPECT_EQ(process.sort_index, -3);
  EXPECT_TRUE(process.has_sort_index);
  EXPECT_EQ(trace.string(track.name), "main");
  EXPECT_EQ(track.sort_index, 9);
  EXPECT_TRUE(track.has_sort_index);
}

constexpr std::string_view kTwoSlices = R"(
  {"ph":"X","name":"from","pid":1,"tid":1,"ts":10,"dur":10},
  {"ph":"X","name":"to","pid":1,"tid":2,"ts":30,"dur":10},)";

TEST(EventAssembler, AFlowThatBindsToTheEnclosingSliceEndsInIt) {
  const Trace trace = load_json(events(std::string(kTwoSlices) + R"(
    {"ph":"s","name":"f","cat":"c","id":1,"pid":1,"tid":1,"ts":15},
    {"ph":"f","bp":"e","name":"f","cat":"c","id":1,"pid":1,"tid":2,"ts":35})"));
  EXPECT_EQ(flows_as_text(trace), "from 10000+10000 -> to 30000+10000\n");
}

TEST(EventAssembler, AFlowWithoutABindingPointEndsInTheNextSlice) {
  const Trace trace = load_json(events(std::string(kTwoSlices) + R"(
    {"ph":"s","name":"f","cat":"c","id":"0xA","pid":1,"tid":1,"ts":15},
    {"ph":"f","name":"f","cat":"c","id":10,"pid":1,"tid":2,"ts":25})"));
  EXPECT_EQ(flows_as_text(trace), "from 10000+10000 -> to 30000+10000\n");
}

TEST(EventAssembler, AFlowWithAStepIsTwoArrows) {
  const Trace trace = load_json(events(std::string(kTwoSlices) + R"(
    {"ph":"X","name":"mid","pid":1,"tid":3,"ts":20,"dur":5},
    {"ph":"f","bp":"e","name":"f","cat":"c","id":1,"pid":1,"tid":2,"ts":35},
    {"ph":"t","name":"f","cat":"c","id":1,"pid":1,"tid":3,"ts":22},
    {"ph":"s","name":"f","cat":"c","id":1,"pid":1,"tid":1,"ts":15})"));
  EXPECT_EQ(flows_as_text(trace),
            "from 10000+10000 -> mid 20000+5000\nmid 20000+5000 -> to 30000+10000\n");
}

TEST(EventAssembler, FlowsOfOneIdAndTwoCategoriesAreTwo) {
  const Trace trace = load_json(events(std::string(kTwoSlices) + R"(
    {"ph":"s","name":"f","cat":"ac2g","id":1,"pid":1,"tid":1,"ts":15},
    {"ph":"f","bp":"e","name":"f","cat":"fwdbwd","id":1,"pid":1,"tid":2,"ts":35})"));
  EXPECT_EQ(flows_as_text(trace), "");
  EXPECT_EQ(stat(trace, Stat::kFlowsUnbound), 2u);
}

TEST(EventAssembler, ALocalIdIsOfItsProcess) {
  const Trace trace = load_json(events(R"(
    {"ph":"X","name":"from","pid":1,"tid":1,"ts":10,"dur":10},
    {"ph":"X","name":"to","pid":2,"tid":1,"ts":30,"dur":10},
    {"ph":"s","name":"local","id2":{"local":"0x1"},"pid":1,"tid":1,"ts":15},
    {"ph":"f","bp":"e","name":"local","id2":{"local":"0x1"},"pid":2,"tid":1,"ts":35},
    {"ph":"s","name":"global","id2":{"global":"0x1"},"pid":1,"tid":1,"ts":15},
    {"ph":"f","bp":"e","name":"global","id2":{"global":"0x1"},"pid":2,"tid":1,"ts":35})"));
  EXPECT_EQ(flows_as_text(trace), "from 10000+10000 -> to 30000+10000\n");
  EXPECT_EQ(stat(trace, Stat::kFlowsUnbound), 2u);
}

TEST(EventAssembler, AsynchronousOperationsLieInLanesOfTheirCategory) {
  const Trace trace = load_json(R"([
    {"ph":"b","cat":"net","name":"get","id":1,"pid":1,"tid":1,"ts":1,"args":{"url":"x"}},
    {"ph":"b","cat":"net","name":"get","id":2,"pid":1,"tid":1,"ts":2},
    {"ph":"b","cat":"net","name":"dns","id":1,"pid":1,"tid":9,"ts":3},
    {"ph":"n","cat":"net","name":"byte","id":1,"pid":1,"tid":1,"ts":4},
    {"ph":"e","cat":"net","name":"dns","id":1,"pid":1,"tid":1,"ts":5,"args":{"ip":"::1"}},
    {"ph":"e","cat":"net","name":"get","id":1,"pid":1,"tid":1,"ts":6},
    {"ph":"e","cat":"net","name":"get","id":2,"pid":1,"tid":1,"ts":7},
    {"ph":"b","cat":"net","name":"again","id":1,"pid":1,"tid":1,"ts":8},
    {"ph":"e","cat":"net","name":"again","id":1,"pid":1,"tid":1,"ts":9}])");
  EXPECT_EQ(slices_as_text(trace),
            "get 1000+5000\n dns 3000+2000\n  byte 4000+0\nagain 8000+1000\nget 2000+5000\n");
  EXPECT_EQ(track_of_slice(trace, "dns").kind, TrackKind::kAsync);
  EXPECT_EQ(trace.string(track_of_slice(trace, "dns").series), "net");
  EXPECT_EQ(args_of(trace, find_slice(trace, "dns")),
            (std::vector<std::string>{"async id=1", "ip='::1'"}));
  EXPECT_FALSE(trace.stats().has_faults());
}

TEST(EventAssembler, AsynchronousIdsDifferByScopeCategoryAndProcess) {
  const Trace trace = load_json(R"([
    {"ph":"b","cat":"a","scope":"s1","name":"one","id":1,"pid":1,"ts":1},
    {"ph":"b","cat":"a","scope":"s2","name":"two","id":1,"pid":1,"ts":2},
    {"ph":"b","cat":"b","scope":"s1","name":"three","id":1,"pid":1,"ts":3},
    {"ph":"b","cat":"a","scope":"s1","name":"four","id":1,"pid":2,"ts":4},
    {"ph":"e","cat":"a","scope":"s1","name":"one","id":1,"pid":1,"ts":11},
    {"ph":"e","cat":"a","scope":"s2","name":"two","id":1,"pid":1,"ts":12},
    {"ph":"e","cat":"b","scope":"s1","name":"three","id":1,"pid":1,"ts":13},
    {"ph":"e","cat":"a","scope":"s1","name":"four","id":1,"pid":2,"ts":14}])");
  EXPECT_EQ(slices_as_text(trace),
            "one 1000+10000\ntwo 2000+10000\nthree 3000+10000\nfour 4000+10000\n");
}

TEST(EventAssembler, AGlobalAsynchronousIdMayEndInAnotherProcess) {
  const Trace trace = load_json(R"([
    {"ph":"b","cat":"a","name":"ipc","id2":{"global":7},"pid":1,"ts":1},
    {"ph":"e","cat":"a","name":"ipc","id2":{"global":7},"pid":2,"ts":5},
    {"ph":"b","cat":"a","name":"own","id2":{"local":7},"pid":1,"ts":10},
    {"ph":"e","cat":"a","name":"own","id2":{"local":7},"pid":2,"ts":15}])");
  EXPECT_EQ(slices_as_text(trace), "ipc 1000+4000\nown 10000+0\n");
  EXPECT_EQ(stat(trace, Stat::kBeginsWithoutEnd), 1u);
  EXPECT_EQ(stat(trace, Stat::kEndsWithoutBegin), 1u);
}

TEST(EventAssembler, AnAsynchronousEndMayStandBeforeItsBegin) {
  const Trace trace = load_json(R"([
    {"ph":"e","cat":"a","name":"op","id":1,"ts":5}, {"ph":"b","cat":"a","name":"op","id":1,"ts":1}])");
  EXPECT_EQ(slices_as_text(trace), "op 1000+4000\n");
  EXPECT_FALSE(trace.stats().has_faults());
}

TEST(EventAssembler, OverlappingAsynchronousSlicesOfOneIdEndByName) {
  const Trace trace = load_json(R"([
    {"ph":"b","cat":"a","name":"x","id":1,"ts":1}, {"ph":"b","cat":"a","name":"y","id":1,"ts":2},
    {"ph":"e","cat":"a","name":"x","id":1,"ts":3}, {"ph":"e","cat":"a","name":"y","id":1,"ts":4}])");
  EXPECT_EQ(slices_as_text(trace), "x 1000+2000\ny 2000+2000\n");
}

TEST(EventAssembler, OlderAsynchronousPhasesAreRead) {
  const Trace trace = load_json(R"([
    {"ph":"S","cat":"a","name":"op","id":1,"ts":1}, {"ph":"T","cat":"a","name":"op","id":1,"ts":2},
    {"ph":"p","cat":"a","name":"op","id":1,"ts":3}, {"ph":"F","cat":"a","name":"op","id":1,"ts":4}])");
  EXPECT_EQ(slices_as_text(trace), "op 1000+3000\n op 2000+0\n op 3000+0\n");
}

TEST(EventAssembler, PhasesThatAreNotReadAreCountedAndNoted) {
  const Trace trace = load_json(R"([
    {"ph":"O","name":"o","id":1,"ts":1}, {"ph":"O","name":"o","id":1,"ts":2},
    {"ph":"X","name":"x","ts":1}])");
  EXPECT_EQ(stat(trace, Stat::kEventsSkipped), 2u);
  ASSERT_EQ(trace.stats().notes().size(), 1u);
  EXPECT_EQ(trace.stats().notes()[0], "events of phase 'O' are not read (2)");
}

TEST(EventAssembler, ProcessAndThreadIdsMayBeText) {
  const Trace trace = load_json(R"([
    {"ph":"X","name":"a","pid":"Spans","tid":"PyTorch Profiler","ts":1},
    {"ph":"X","name":"b","pid":"7","tid":-1,"ts":1}, {"ph":"X","name":"c","pid":7,"tid":"-1","ts":2}])");
  ASSERT_EQ(trace.tracks().size(), 2u);
  EXPECT_EQ(trace.string(trace.processes()[0].pid.text), "Spans");
  EXPECT_EQ(trace.string(trace.tracks()[0].tid.text), "PyTorch Profiler");
  EXPECT_EQ(trace.processes()[1].pid.number, 7);
  EXPECT_EQ(trace.tracks()[1].tid.number, -1);
}

TEST(EventAssembler, HostileTimesStayWithinBounds) {
  const Trace trace = load_json(R"([
    {"ph":"X","name":"a","ts":1e300,"dur":1e300}, {"ph":"X","name":"b","ts":-1e300,"dur":1e300},
    {"ph":"B","name":"c","ts":-9e18}, {"ph":"E","name":"c","ts":9e18},
    {"ph":"b","name":"d","id":1,"ts":-9e18}, {"ph":"e","name":"d","id":1,"ts":9e18},
    {"ph":"b","name":"e","id":2,"ts":-9e18}, {"ph":"C","name":"f","ts":1e200,"args":{"v":1e308}},
    {"ph":"s","name":"g","id":3,"ts":9e18}, {"ph":"f","name":"g","id":3,"ts":-9e18},
    {"ph":"i","name":"[memory]","ts":9e18,"args":{"Bytes":9223372036854775807,"Device Id":99999999}}])");
  EXPECT_EQ(trace.slices().size(), 5u);
  EXPECT_LE(trace.begin_ns(), trace.end_ns());
}

}  // namespace
}  // namespace stepscope
