#include "ingest/chrome_json.h"

#include <gtest/gtest.h>

#include <string>

#include "ingest/trace_for_tests.h"

namespace stepscope {
namespace {

constexpr std::string_view kA = R"({"ph":"X","name":"a","ts":1,"dur":1})";
constexpr std::string_view kB = R"({"ph":"X","name":"b","ts":5,"dur":1})";
constexpr std::string_view kBoth = "a 1000+1000\nb 5000+1000\n";

std::string join(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

bool has_note(const Trace& trace, std::string_view part) {
  for (const std::string& note : trace.stats().notes()) {
    if (note.find(part) != std::string::npos) return true;
  }
  return false;
}

TEST(ChromeJson, AnObjectWithEventsIsATrace) {
  const Trace trace = load_json(join({"{\"traceEvents\":[", kA, ",", kB, "]}"}));
  EXPECT_EQ(slices_as_text(trace), kBoth);
  EXPECT_EQ(trace.format(), "Chrome JSON");
  EXPECT_EQ(trace.source(), "test.json");
  EXPECT_FALSE(trace.stats().has_faults());
}

TEST(ChromeJson, ABareArrayIsATrace) {
  EXPECT_EQ(slices_as_text(load_json(join({"[", kA, ",", kB, "]"}))), kBoth);
}

TEST(ChromeJson, ABareArrayNeedsNoEnd) {
  for (const std::string_view end : {"", "\n", ",", ",\n", " , "}) {
    const Trace trace = load_json(join({"[", kA, ",", kB, end}));
    EXPECT_EQ(slices_as_text(trace), kBoth);
    EXPECT_FALSE(trace.stats().has_faults()) << end;
  }
}

TEST(ChromeJson, TrailingCommasAreNoFault) {
  for (const std::string_view end : {",]", ",\n]\n", ",,]"}) {
    const Trace trace = load_json(join({"[", kA, ",", kB, end}));
    EXPECT_EQ(slices_as_text(trace), kBoth);
    EXPECT_FALSE(trace.stats().has_faults()) << end;
  }
  EXPECT_EQ(slices_as_text(load_json(join({"{\"traceEvents\":[", kA, ",", kB, ",],}"}))), kBoth);
}

TEST(ChromeJson, AMissingFinalBraceLosesNothing) {
  const Trace trace = load_json(join({"{\"traceEvents\":[", kA, ",", kB, "],\"a\":\"b\""}));
  EXPECT_EQ(slices_as_text(trace), kBoth);
  EXPECT_EQ(trace.find_metadata("a"), "b");
}

TEST(ChromeJson, AnObjectThatEndsInsideItsEventsSaysSo) {
  const Trace trace = load_json(join({"{\"traceEvents\":[", kA, ",", kB}));
  EXPECT_EQ(slices_as_text(trace), kBoth);
  EXPECT_TRUE(has_note(trace, "the file ends inside the list of events"));
  EXPECT_GT(stat(trace, Stat::kBytesTruncated), 0u);
}

TEST(ChromeJson, AFileThatEndsInsideAnEventKeepsTheEventsBefore) {
  const Trace trace = load_json(join({"[", kA, ",", kB, ",{\"ph\":\"X\",\"na"}));
  EXPECT_EQ(slices_as_text(trace), kBoth);
  EXPECT_EQ(stat(trace, Stat::kBytesTruncated), 13u);
  EXPECT_TRUE(has_note(trace, "byte 75: the file ends inside an event; 13 bytes were not used"));
}

TEST(ChromeJson, EveryPrefixOfAFileLoadsOrFailsWithOneLine) {
  const std::string whole = join(
      {"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", kA, ",", kB, "],\"x\":[1,{\"y\":\"z\"}]}"});
  for (size_t length = 1; length <= whole.size(); ++length) {
    const Result<Trace> trace =
        load_bytes(std::string_view(whole).substr(0, length), "cut.json", {.threads = 1});
    if (trace) continue;
    EXPECT_TRUE(trace.status().message().starts_with("cut.json: ")) << trace.status().message();
    EXPECT_EQ(trace.status().message().find('\n'), std::string::npos);
  }
}

TEST(ChromeJson, SpaceAndAByteOrderMarkAreSkipped) {
  EXPECT_EQ(slices_as_text(load_json(join({"\xEF\xBB\xBF \r\n\t[ \n", kA, " \n, ", kB, " ] \n"}))),
            kBoth);
  EXPECT_EQ(slices_as_text(load_json(join(
                {"\n\n{ \"traceEvents\" : [\n", kA, "\r\n,\r\n", kB, "\r\n] , \"a\" : 1 } \n"}))),
            kBoth);
}

TEST(ChromeJson, MembersBesideTheEventsAreMetadata) {
  const Trace trace =
      load_json(join({R"({"displayTimeUnit":"ns","schemaVersion":1,"traceEvents":[)", kA, ",", kB,
                      R"(],"traceName":"a\u0041\"","list":[ {"x":"\n"} ],)", R"("last":true})"}));
  EXPECT_EQ(slices_as_text(trace), kBoth);
  EXPECT_EQ(trace.find_metadata("displayTimeUnit"), "ns");
  EXPECT_EQ(trace.find_metadata("schemaVersion"), "1");
  EXPECT_EQ(trace.find_metadata("traceName"), "aA\"");
  EXPECT_EQ(trace.find_metadata("list"), R"([ {"x":"\n"} ])");
  EXPECT_EQ(trace.find_metadata("last"), "true");
  EXPECT_EQ(trace.format(), "Kineto JSON");
}

TEST(ChromeJson, EventLikeMetadataAfterTheEventsIsNoEvent) {
  for (const size_t chunk_bytes : {size_t{16}, size_t{64}, size_t{1} << 20}) {
    const Trace trace = load_json(join({"{\"traceEvents\":[", kA, ",", kB, "],\"other\":[", kA, ",",
                                        kB, ",", kA, "],\"z\":1}"}),
                                  {.threads = 2, .chunk_bytes = chunk_bytes});
    EXPECT_EQ(slices_as_text(trace), kBoth);
    EXPECT_EQ(trace.find_metadata("z"), "1");
    EXPECT_EQ(trace.find_metadata("other"), join({"[", kA, ",", kB, ",", kA, "]"}));
  }
}

TEST(ChromeJson, SeveralListsOfEventsAreOneTrace) {
  for (const size_t chunk_bytes : {size_t{16}, size_t{1} << 20}) {
    const Trace trace =
        load_json(join({"{\"traceEvents\":[", kA, "],\"m\":{\"traceEvents\":[9]},\"traceEvents\":[",
                        kB, "],\"n\":2}"}),
                  {.threads = 1, .chunk_bytes = chunk_bytes});
    EXPECT_EQ(slices_as_text(trace), kBoth);
    EXPECT_EQ(trace.find_metadata("m"), R"({"traceEvents":[9]})");
    EXPECT_EQ(trace.find_metadata("n"), "2");
    EXPECT_FALSE(trace.stats().has_faults());
  }
}

TEST(ChromeJson, MetadataTooLargeToKeepIsLeftOutAndNoted) {
  const std::string large(17u << 20, 'x');
  const Trace trace = load_json(join({"{\"before\":\"", large, "\",\"traceEvents\":[", kA, ",", kB,
                                      "],\"after\":[\"", large, "\"],\"small\":1}"}));
  EXPECT_EQ(slices_as_text(trace), kBoth);
  EXPECT_EQ(trace.find_metadata("before"), "");
  EXPECT_EQ(trace.find_metadata("after"), "");
  EXPECT_EQ(trace.find_metadata("small"), "1");
  EXPECT_EQ(stat(trace, Stat::kValuesSkipped), 2u);
  EXPECT_TRUE(has_note(trace, "\"before\" is left out: 17825794 bytes"));
}

TEST(ChromeJson, VeryMuchMetadataCostsNoMoreThanItsLength) {
  std::string members;
  for (int i = 0; i < 200'000; ++i) members += "\"k" + std::to_string(i) + "\":" + "1,";
  const Trace trace = load_json(
      join({"{", members, "\"traceEvents\":[", kA, ",", kB, "],", members, "\"end\":1}"}));
  EXPECT_EQ(slices_as_text(trace), kBoth);
  EXPECT_EQ(trace.metadata().size(), 10'000u);
  EXPECT_EQ(stat(trace, Stat::kValuesSkipped), 390'001u);
}

TEST(ChromeJson, ManyEventsWithUnknownFirstKeysLoadInLinearTime) {
  std::string text = "[";
  for (int i = 0; i < 50'000; ++i) {
    text += R"({"unknown":0,"ph":"X","name":"a","ts":)" + std::to_string(i) + "},\n";
  }
  EXPECT_EQ(load_json(text).slices().size(), 50'000u);
}

TEST(ChromeJson, AnEmptyListIsAnEmptyTrace) {
  for (const std::string_view text : {"[]", " [ ] ", "{\"traceEvents\":[]}", "["}) {
    const Trace trace = load_json(text);
    EXPECT_EQ(trace.slices().size(), 0u);
    EXPECT_EQ(trace.begin_ns(), 0);
    EXPECT_EQ(trace.end_ns(), 0);
  }
}

TEST(ChromeJson, AListOfSomethingElseIsNoTrace) {
  EXPECT_EQ(load_fault("[1, 2, 3]"), "test.json: not a trace: none of its 3 entries is an event");
  EXPECT_EQ(load_fault(R"([{"a":1},{"b":2}])"),
            "test.json: not a trace: none of its 2 entries is an event");
  EXPECT_EQ(load_fault(R"({"traceEvents":[["x"],"y",null,true]})"),
            "test.json: not a trace: none of its 4 entries is an event");
}

TEST(ChromeJson, AnObjectWithoutEventsIsNoTrace) {
  const std::string fault = "test.json: JSON, but not a trace: no \"traceEvents\" in it";
  EXPECT_EQ(load_fault("{}"), fault);
  EXPECT_EQ(load_fault("{"), fault);
  EXPECT_EQ(load_fault(R"({"a":{"traceEvents":[]},"traceEvents":5})"), fault);
  EXPECT_EQ(load_fault(R"({"a":"cut)"), fault);
}

TEST(ChromeJson, DeepNestingAsTheWholeFileIsNoTrace) {
  const std::string open(10'000, '[');
  const std::string close(10'000, ']');
  EXPECT_EQ(load_fault(open + close), "test.json: not a trace: none of its 1 entries is an event");
  EXPECT_EQ(load_fault(open), "test.json: not a trace: it ends inside its first entry");
  std::string objects;
  for (int i = 0; i < 10'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(load_fault(objects), "test.json: JSON, but not a trace: no \"traceEvents\" in it");
}

TEST(ChromeJson, TheBaseOfTheClockIsKept) {
  const Trace trace =
      load_json(join({R"({"baseTimeNanoseconds":1700000000000000000,"traceEvents":[)", kA, "]}"}));
  EXPECT_EQ(trace.clock_base_ns(), 1700000000000000000);
}

}  // namespace
}  // namespace stepscope
