#include "ingest/slow_reader.h"

#include <gtest/gtest.h>

#include <string>

#include "ingest/trace_for_tests.h"

namespace stepscope {
namespace {

std::string event(const std::string& name, int ts) {
  return R"({"ph":"X","name":")" + name + R"(","ts":)" + std::to_string(ts) + R"(,"dur":1})";
}

// Good events around one that is not, in files of several sizes and chunks.
void expect_rest_loads(const std::string& bad, Stat stat_of_bad, int slices_of_bad) {
  for (const size_t chunk_bytes : {size_t{64}, size_t{4096}, size_t{1} << 20}) {
    for (const bool is_object : {false, true}) {
      std::string text = is_object ? "{\"traceEvents\":[" : "[";
      for (int i = 0; i < 50; ++i) text += event("before", i * 10) + ",\n";
      text += bad + ",\n";
      for (int i = 50; i < 100; ++i) text += event("after", i * 10) + (i == 99 ? "" : ",\n");
      text += is_object ? "]}" : "]";
      const Trace trace = load_json(text, {.threads = 2, .chunk_bytes = chunk_bytes});
      EXPECT_EQ(static_cast<int>(trace.slices().size()), 100 + slices_of_bad)
          << bad << " " << chunk_bytes;
      EXPECT_EQ(stat(trace, stat_of_bad), 1u) << bad << " " << chunk_bytes;
      EXPECT_EQ(trace.stats().notes().size(), 1u) << bad;
    }
  }
}

TEST(SlowReader, AControlCharacterInANameIsMended) {
  expect_rest_loads(event("new\nline", 700), Stat::kEventsMended, 1);
  expect_rest_loads(event(std::string("nul\0", 4), 700), Stat::kEventsMended, 1);
  const Trace trace = load_json("[" + event("good", 1) + "," + event("a\tb\x1f", 2) + "]");
  EXPECT_EQ(slices_as_text(trace), "good 1000+1000\na b  2000+1000\n");
  EXPECT_EQ(trace.stats().notes()[0],
            "byte 41: control character in a string; event mended (1 so far)");
}

TEST(SlowReader, BytesThatAreNoUtf8AreMended) {
  expect_rest_loads(event("caf\xe9", 700), Stat::kEventsMended, 1);
  const Trace trace = load_json("[" + event("caf\xe9 \xc3\xa9", 1) + "]");
  EXPECT_EQ(trace.slice_name(SliceId{0}), "caf? \xc3\xa9");
}

TEST(SlowReader, AnUnescapedQuoteLosesOnlyItsEvent) {
  expect_rest_loads(event("op<\"fast\">", 700), Stat::kEventsSkipped, 0);  // an even number
  expect_rest_loads(event("5\" disk", 700), Stat::kEventsSkipped, 0);      // an odd number
}

TEST(SlowReader, AnEventThatIsCutLosesNoMoreThanItselfAndTheNext) {
  expect_rest_loads(R"({"ph":"X","name":"cut)", Stat::kEventsSkipped, -1);
  expect_rest_loads(R"({"ph":"X","name":"cut","args":{"a":[1,2)", Stat::kEventsSkipped, -1);
  expect_rest_loads(event("more", 700) + "}", Stat::kEventsSkipped, 1);
}

TEST(SlowReader, WhatIsNoEventIsSkipped) {
  for (const char* bad : {"5", "null", "\"text\"", "[1,[2]]", "}", "NaN", R"({"ph":"X" "ts":1})",
                          R"({"ph":"X",})", R"({'ph':'X'})"}) {
    expect_rest_loads(bad, Stat::kEventsSkipped, 0);
  }
}

TEST(SlowReader, AHugeEventIsReadWhole) {
  const std::string large(3u << 20, 'x');
  const std::string text = "[" + event("a", 1) + R"(,{"ph":"X","name":"big","ts":5,"args":{"v":")" +
                           large + R"("}},)" + event("b", 9) + "]";
  for (const int threads : {1, 3}) {
    const Trace trace = load_json(text, {.threads = threads});
    EXPECT_EQ(slices_as_text(trace), "a 1000+1000\nbig 5000+0\nb 9000+1000\n");
    EXPECT_EQ(args_of(trace, SliceId{1}), std::vector<std::string>{"v='" + large + "'"});
    EXPECT_FALSE(trace.stats().has_faults());
  }
}

TEST(SlowReader, ADamagedEventOfAnySizeIsGivenUpInTime) {
  // The quote swallows all that follows, as far as quotes are counted.
  std::string text = "[" + event("a", 1) + "," + event("5\" disk", 2);
  uint64_t good = 1;
  while (text.size() < (40u << 20)) {
    text += "," + event(std::string(2000, 'g'), static_cast<int>(++good) * 10);
  }
  const Trace trace = load_json(text + "]");
  EXPECT_EQ(trace.slices().size(), good);
  EXPECT_EQ(stat(trace, Stat::kEventsSkipped), 1u);
}

TEST(SlowReader, ManyDamagedEventsTakeLinearTime) {
  std::string text = "[";
  for (int i = 0; i < 20'000; ++i) text += R"({"ph":"X","args":{"a":{},)";
  text += event("end", 1);
  const std::string fault = load_fault(text + "]");
  EXPECT_EQ(fault, "");
  std::string quotes = "[";
  for (int i = 0; i < 20'000; ++i) quotes += R"({},{"ph":"X","name":"}},)";
  (void)load_fault(quotes + event("end", 1) + "]");
}

TEST(SlowReader, ManyBegunAsynchronousOperationsTakeLinearTime) {
  std::string text = "[";
  for (int i = 0; i < 100'000; ++i) text += R"({"ph":"e","id":1,"name":"y","ts":1},)";
  for (int i = 0; i < 100'000; ++i) text += R"({"ph":"b","id":1,"name":"x","ts":2},)";
  for (int i = 0; i < 100'000; ++i) text += R"({"ph":"e","id":1,"name":"z","ts":3},)";
  const Trace trace = load_json(text);
  EXPECT_EQ(trace.slices().size(), 100'000u);
  EXPECT_EQ(stat(trace, Stat::kEndsWithoutBegin), 100'000u);
}

}  // namespace
}  // namespace stepscope
