#include "ingest/prof.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ingest/load.h"

namespace stepscope {
namespace {

using namespace std::string_view_literals;

// Pieces of marshal, as Python writes them.
std::string operator""_m(const char* text, size_t size) { return {text, size}; }
const std::string kEnd = "0";
const std::string kMain = ")\3z\4a.pyi\1\0\0\0z\4main"_m;
const std::string kWork = ")\3z\4a.pyi\5\0\0\0z\4work"_m;
const std::string kOne = "i\1\0\0\0"_m;
const std::string kHalfSecond = "g\0\0\0\0\0\0\xe0\x3f"_m;
const std::string kFigures = kOne + kOne + kHalfSecond + kHalfSecond;
const std::string kNoCallers = "{0";

std::string entry(const std::string& key, const std::string& callers) {
  return key + ")\5" + kFigures + callers;
}

Result<CallProfile> decode(const std::string& bytes) { return decode_prof(bytes, "x.prof"); }

std::string fault(const std::string& bytes) {
  const Result<CallProfile> profile = decode(bytes);
  return profile ? "none" : profile.status().message();
}

TEST(ProfDecoder, ReadsFunctionsAndTheirCallersInOrder) {
  const auto profile = decode("{" + entry(kWork, "{" + kMain + ")\4" + kFigures + kEnd) +
                              entry(kMain, kNoCallers) + kEnd);
  ASSERT_TRUE(profile.ok()) << profile.status().message();
  ASSERT_EQ(profile->entries().size(), 2u);
  const CallProfile::Entry& work = profile->entries()[0];
  EXPECT_EQ(profile->string(profile->functions()[work.function].name), "work");
  EXPECT_EQ(profile->functions()[work.function].line, 5);
  EXPECT_EQ(work.figures.self_s, 0.5);
  ASSERT_EQ(work.callers.size(), 1u);
  EXPECT_EQ(work.callers[0].function, profile->entries()[1].function);
}

TEST(ProfDecoder, MarkedObjectsAreMeantAgain) {
  // Marks: 0 the key, 1 its file, 2 its line, 3 its name, 4 a count, 5 a time.
  const std::string key = "\xa9\3\xfa\4a.py\xe9\1\0\0\0\xfa\1f"_m;
  const std::string figures = ")\5\xe9\2\0\0\0r\4\0\0\0\xe7\0\0\0\0\0\0\xe0\x3fr\5\0\0\0"_m;
  const std::string second = ")\3r\1\0\0\0r\2\0\0\0z\1g"_m;
  const std::string callers = "{r\0\0\0\0)\4r\4\0\0\0r\4\0\0\0r\5\0\0\0r\5\0\0\0"_m + kEnd;
  const auto profile =
      decode("{" + key + figures + "{0" + second + ")\5" + kFigures + callers + kEnd);
  ASSERT_TRUE(profile.ok()) << profile.status().message();
  EXPECT_EQ(profile->functions()[1].file, profile->functions()[0].file);
  EXPECT_EQ(profile->entries()[0].figures.calls, 2);
  EXPECT_EQ(profile->entries()[0].figures.total_s, 0.5);
  EXPECT_EQ(profile->entries()[1].callers[0].function, 0u);
  EXPECT_EQ(profile->entries()[1].callers[0].figures.calls, 2);
}

TEST(ProfDecoder, ReadsEveryKindOfNumberAndText) {
  const auto read = [](const std::string& line, const std::string& self, const std::string& name) {
    const auto profile = decode("{)\3u\1\0\0\0a"_m + line + name + ")\5" + kOne + kOne + self +
                                kHalfSecond + kNoCallers + kEnd);
    EXPECT_TRUE(profile.ok()) << profile.status().message();
    if (!profile) return std::string();
    return std::to_string(profile->functions()[0].line) + " " +
           std::to_string(profile->entries()[0].figures.self_s) + " " +
           std::string(profile->string(profile->functions()[0].name));
  };
  EXPECT_EQ(read("i\xff\xff\xff\xff"_m,
                 "f\4"
                 "2.25",
                 "s\1\0\0\0x"_m),
            "-1 2.250000 x");
  EXPECT_EQ(read("I\0\0\0\0\1\0\0\0"_m, kOne, "A\1\0\0\0y"_m), "4294967296 1.000000 y");
  EXPECT_EQ(read("l\3\0\0\0\0\0\0\0\4\0"_m, kOne, "t\2\0\0\0\xc3\xa9"_m), "4294967296 1.000000 é");
  EXPECT_EQ(read("l\xfe\xff\xff\xff\1\0\1\0"_m, kOne, "u\3\0\0\0\xed\xb2\x80"_m),
            "-32769 1.000000 \xed\xb2\x80");
  EXPECT_EQ(read("l\5\0\0\0\xff\x7f\xff\x7f\xff\x7f\xff\x7f\7\0"_m, kOne, "Z\0"_m),
            "9223372036854775807 1.000000 ");
}

TEST(ProfDecoder, ACountInPlaceOfFiguresIsACallerWithoutTimes) {
  const auto profile = decode("{" + entry(kWork, "{" + kMain + "i\7\0\0\0"_m + kEnd) + kEnd);
  ASSERT_TRUE(profile.ok());
  EXPECT_FALSE(profile->entries()[0].callers[0].has_times);
  EXPECT_EQ(profile->entries()[0].callers[0].figures.calls, 7);
}

TEST(ProfDecoder, TheLastOfEqualKeysStays) {
  const std::string two = "i\2\0\0\0"_m;
  const auto profile =
      decode("{" + entry(kWork, "{" + kMain + kOne + kMain + two + kEnd) + kWork + ")\5" + two +
             two + kHalfSecond + kHalfSecond + "{" + kMain + kOne + kMain + two + kEnd + kEnd);
  ASSERT_TRUE(profile.ok());
  ASSERT_EQ(profile->entries().size(), 1u);
  EXPECT_EQ(profile->entries()[0].figures.calls, 2);
  ASSERT_EQ(profile->entries()[0].callers.size(), 1u);
  EXPECT_EQ(profile->entries()[0].callers[0].figures.calls, 2);
}

TEST(ProfDecoder, FaultsAreToldInOneLine) {
  EXPECT_EQ(fault(""), "x.prof: byte 0: the file ends too early");
  EXPECT_EQ(fault("{"), "x.prof: byte 1: the file ends too early");
  EXPECT_EQ(fault("[\1"),
            "x.prof: byte 1: expected a dictionary of functions, found the type 0x5b");
  EXPECT_EQ(fault("{N"),
            "x.prof: byte 2: expected a function (file, line, name), found the type 0x4e");
  EXPECT_EQ(fault("{)\2"), "x.prof: byte 3: expected 3 items, found 2");
  EXPECT_EQ(fault("{)\3u\xff\xff\xff\x7f"), "x.prof: byte 8: a text is longer than the file");
  EXPECT_EQ(fault("{)\3z\1\x80"), "x.prof: byte 5: a text is not ASCII");
  EXPECT_EQ(fault("{)\3u\1\0\0\0\xff"_m), "x.prof: byte 8: a text is not UTF-8");
  EXPECT_EQ(fault("{)\3r\0\0\0\0"_m), "x.prof: byte 8: means an object that is not there");
  EXPECT_EQ(fault("{\xa9\3r\0\0\0\0"_m), "x.prof: byte 8: expected a text, found another object");
  EXPECT_EQ(fault("{\xf2\0\0\0\0"_m), "x.prof: byte 2: a mark on what is no object");
  EXPECT_EQ(fault("{)\3z\1al\2\0\0\0\1\0\0\0"_m),
            "x.prof: byte 15: a number with a zero before it");
  EXPECT_EQ(fault("{)\3z\1al\6\0\0\0"_m), "x.prof: byte 11: a number of more than 64 bits");
  EXPECT_EQ(fault("{)\3z\1al\0\0\0\x80"_m), "x.prof: byte 11: a number of more than 64 bits");
  EXPECT_EQ(fault("{)\3z\1al\5\0\0\0\0\0\0\0\0\0\0\0\x08\0"_m),
            "x.prof: byte 21: a number of more than 64 bits");
  EXPECT_EQ(fault("{" + kMain + ")\5" + kHalfSecond), "x.prof: byte 31: expected a whole number");
  EXPECT_EQ(fault("{" + kMain + kOne),
            "x.prof: byte 21: expected the figures of a function, found the type 0x69");
}

TEST(ProfDecoder, ASmallFileHasNoLargeProfile) {
  // One dictionary of callers, meant by many functions.
  std::string callers = "\xfb";
  const auto key = [](int i) {
    return ")\3z\0i"_m + std::string(reinterpret_cast<const char*>(&i), 4) + "z\0"_m;
  };
  for (int i = 0; i < 1000; ++i) callers += key(i) + kOne;
  std::string bytes = "{" + entry(key(0), callers + kEnd);
  for (int i = 1; i < 1000; ++i) bytes += entry(key(i), "r\0\0\0\0"_m);
  EXPECT_NE(fault(bytes + kEnd).find("more callers than the file has bytes"), std::string::npos);
}

TEST(ProfDecoder, KnowsAProfileByItsFirstBytes) {
  EXPECT_TRUE(looks_like_prof("{)\3z"sv));
  EXPECT_TRUE(looks_like_prof("\xfb\xa9\3\xfa"sv));
  EXPECT_TRUE(looks_like_prof("{(\3\0\0\0u"sv));
  EXPECT_TRUE(looks_like_prof("{0"sv));
  EXPECT_FALSE(looks_like_prof("{0,"sv));
  EXPECT_FALSE(looks_like_prof("{\"a\": 1}"sv));
  EXPECT_FALSE(looks_like_prof("{"sv));
  EXPECT_FALSE(looks_like_prof(""sv));
}

TEST(Prof, BecomesCallEdges) {
  const std::string bytes = "{" + entry(kWork, "{" + kMain + ")\4" + kFigures + kEnd) +
                            entry(kMain, "{" + kWork + "i\7\0\0\0"_m + kEnd) + kEnd;
  const auto trace = load_bytes(bytes, "x.prof");
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  EXPECT_EQ(trace->format(), "cProfile");
  const CallEdgeColumns& edges = trace->call_edges();
  ASSERT_EQ(edges.callee.size(), 4u);
  EXPECT_EQ(edges.caller[0], kNoFrame);
  EXPECT_EQ(trace->string(trace->frames()[index(edges.callee[0])].name), "work");
  EXPECT_EQ(edges.self_ns[0], 500'000'000);
  EXPECT_EQ(trace->string(trace->frames()[index(edges.caller[1])].name), "main");
  EXPECT_EQ(edges.total_ns[1], 500'000'000);
  EXPECT_EQ(edges.calls[3], 7u);
  EXPECT_EQ(edges.total_ns[3], kNoCallTimeNs);
}

TEST(Prof, TimesThatAreNoNumbersAreCounted) {
  const std::string nan = "g\0\0\0\0\0\0\xf8\x7f"_m;
  const auto trace = load_bytes("{" + kMain + ")\5" + kOne + kOne + nan + nan + "{00", "x.prof");
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->call_edges().self_ns[0], 0);
  EXPECT_EQ(trace->stats().get(Stat::kValuesSkipped), 2u);
}

}  // namespace
}  // namespace stepscope
