#include "ingest/event_parser.h"

#include <gtest/gtest.h>

#include <string>

#include "ingest/trace_for_tests.h"

namespace stepscope {
namespace {

using Args = std::vector<std::string>;

// Parses a piece as the pipeline does: no brackets, room around it.
struct Piece {
  explicit Piece(std::string_view text)
      : buffer(std::string(EventParser::kTextFront, '<') + std::string(text) +
               std::string(EventParser::kTextPadding, '\0')),
        length(text.size()) {}

  bool parse(EventParser& parser) {
    return parser.parse(buffer.data() + EventParser::kTextFront, length, batch);
  }

  std::string buffer;
  size_t length;
  EventBatch batch;
};

TEST(EventParser, KeysMayStandInAnyOrder) {
  const Trace trace = load_json(R"([
    {"args":{"k":1},"dur":2,"ts":1,"tid":3,"pid":2,"cat":"c","name":"a","ph":"X"},
    {"ph":"X","name":"b","cat":"c","pid":2,"tid":3,"ts":4,"dur":2,"args":{"k":2}}])");
  EXPECT_EQ(slices_as_text(trace), "a 1000+2000\nb 4000+2000\n");
  EXPECT_EQ(args_of(trace, SliceId{0}), Args{"k=1"});
  EXPECT_EQ(args_of(trace, SliceId{1}), Args{"k=2"});
  EXPECT_EQ(trace.tracks().size(), 1u);
}

TEST(EventParser, OfDuplicateKeysTheLastCounts) {
  const Trace trace = load_json(
      R"([{"ph":"B","name":"x","ts":9,"name":"a","ph":"X","ts":1,"args":{"k":1,"k":2}}])");
  EXPECT_EQ(slices_as_text(trace), "a 1000+0\n");
  EXPECT_EQ(args_of(trace, SliceId{0}), Args{"k=2"});
}

TEST(EventParser, ArgumentsKeepTheirTypes) {
  const Trace trace = load_json(R"([{"ph":"X","name":"a","ts":1,"args":{
    "int":-5, "big":18446744073709551616, "real":1.5, "exp":1e3, "text":"t", "yes":true, "no":false,
    "none":null, "list":[1, [2], "x\"y"], "object":{"a":{"b":"\\"}}, "empty":"", "e1":[], "e2":{}}}])");
  EXPECT_EQ(args_of(trace, SliceId{0}),
            (Args{"big=18446744073709551616", "e1=[]", "e2={}", "empty=''", "exp=1000.000000",
                  "int=-5", R"(list=[1, [2], "x\"y"])", "no=false", "none=null",
                  R"(object={"a":{"b":"\\"}})", "real=1.500000", "text='t'", "yes=true"}));
}

TEST(EventParser, TheSpaceAfterAListOrAnObjectIsNoPartOfIt) {
  const Trace trace = load_json(
      "[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"args\":{\"l\":[1] ,\"o\":{\"k\":2}\n  }}]");
  EXPECT_EQ(args_of(trace, SliceId{0}), (Args{"l=[1]", "o={\"k\":2}"}));
}

TEST(EventParser, AKeyMayBeEmptyOrLongerThanAnyGuess) {
  const std::string key(300, 'k');
  const std::string event = R"({"ph":"X","name":"a","ts":1,"args":{"":1,")" + key + R"(":2}})";
  const Trace trace = load_json("[" + event + "," + event + "]");
  EXPECT_EQ(args_of(trace, SliceId{0}), (Args{"=1", key + "=2"}));
  EXPECT_EQ(args_of(trace, SliceId{1}), (Args{"=1", key + "=2"}));
}

TEST(EventParser, ValuesThatAreNoJsonAreCounted) {
  const Trace trace = load_json(
      R"([{"ph":"X","name":"a","ts":1,"args":{"a":NaN,"b":Infinity,"c":nul,"d":truth,"e":1}}])");
  EXPECT_EQ(args_of(trace, SliceId{0}), Args{"e=1"});
  EXPECT_EQ(stat(trace, Stat::kValuesSkipped), 4u);
}

TEST(EventParser, UnknownKeysOfAnEventAreArguments) {
  const Trace trace = load_json(
      R"([{"ph":"X","name":"a","ts":1,"tts":5,"cname":"good","stack":["f","g"],"args":{"tts":6}}])");
  EXPECT_EQ(args_of(trace, SliceId{0}), (Args{"cname='good'", R"(stack=["f","g"])", "tts=6"}));
}

TEST(EventParser, AnEmptyKeyIsAKey) {
  const Trace trace = load_json(R"([{"ph":"X","":1,"ts":1,"args":{"":2}},{"ph":"X","":3,"ts":2}])");
  EXPECT_EQ(args_of(trace, SliceId{0}), Args{"=2"});
  EXPECT_EQ(args_of(trace, SliceId{1}), Args{"=3"});
}

TEST(EventParser, AKeyOfAnEventMeansNothingInItsArguments) {
  const Trace trace = load_json(R"([
    {"ph":"X","name":"a","ts":1,"args":{"ph":"B","name":"x","ts":99,"dur":7,"args":{"q":1}},"dur":3}])");
  EXPECT_EQ(slices_as_text(trace), "a 1000+3000\n");
  EXPECT_EQ(args_of(trace, SliceId{0}),
            (Args{R"(args={"q":1})", "dur=7", "name='x'", "ph='B'", "ts=99"}));
}

TEST(EventParser, StringAndFloatTimesAreExact) {
  const Trace trace = load_json(R"([
    {"ph":"X","name":"a","ts":"1700000000123456.789","dur":"0.001"},
    {"ph":"X","name":"b","ts":1700000000123457.789,"dur":2.5e-1}])");
  EXPECT_EQ(slices_as_text(trace), "a 1700000000123456789+1\nb 1700000000123457789+250\n");
}

TEST(EventParser, AnEventWithoutATimeOrAPhaseIsCounted) {
  const Trace trace = load_json(R"([
    {"ph":"X","name":"a","ts":NaN}, {"ph":"X","name":"b"}, {"name":"c","ts":1}, {"ph":"","ts":1},
    {"ph":5,"ts":1}, {"ph":"X","name":"good","ts":1}, {"ph":"X","name":"d","ts":null}])");
  EXPECT_EQ(slices_as_text(trace), "good 1000+0\n");
  EXPECT_EQ(stat(trace, Stat::kEventsRead), 7u);
  EXPECT_EQ(stat(trace, Stat::kEventsSkipped), 6u);
}

TEST(EventParser, TheEmptyObjectAtTheEndOfTensorFlowsListIsNoEvent) {
  const Trace trace = load_json(R"({"displayTimeUnit":"ns","traceEvents":[
    {"ph":"X","name":"train","ts":1,"dur":2,"args":{"step_num":"5"}},{}]})");
  EXPECT_EQ(slices_as_text(trace), "train 1000+2000\n");
  EXPECT_EQ(stat(trace, Stat::kEventsRead), 1u);
  EXPECT_FALSE(trace.stats().has_faults());
}

TEST(EventParser, EscapesInNamesAreUndone) {
  const Trace trace = load_json(
      R"([{"ph":"X","name":"a\"\\\u00e9\ud83d\ude00\n","ts":1,"args":{"k\u0065y":"\t\q"}}])");
  EXPECT_EQ(trace.slice_name(SliceId{0}), "a\"\\\u00e9\U0001F600\n");
  EXPECT_EQ(args_of(trace, SliceId{0}), Args{"key='\t\\q'"});
}

TEST(EventParser, DeepNestingInArgumentsIsKeptAsText) {
  const std::string deep = std::string(10'000, '[') + std::string(10'000, ']');
  const std::string objects = [] {
    std::string text;
    for (int i = 0; i < 10'000; ++i) text += "{\"a\":";
    return text + "1" + std::string(10'000, '}');
  }();
  const Trace trace = load_json(events(R"({"ph":"X","name":"a","ts":1,"args":{"deep":)" + deep +
                                       R"(,"objects":)" + objects + R"(,"after":1}},
    {"ph":"X","name":"b","ts":2})"));
  EXPECT_EQ(args_of(trace, SliceId{0}), (Args{"after=1", "deep=" + deep, "objects=" + objects}));
  EXPECT_EQ(trace.slices().size(), 2u);
  EXPECT_FALSE(trace.stats().has_faults());
}

TEST(EventParser, PutsBackWhatStoodAroundTheText) {
  EventParser parser(0);
  Piece piece(R"({"ph":"X","name":"a","ts":1})");
  const std::string before = piece.buffer;
  EXPECT_TRUE(piece.parse(parser));
  EXPECT_EQ(piece.buffer, before);
  EXPECT_EQ(piece.batch.events.size(), 1u);
}

TEST(EventParser, ListsOnlyWhatIsNewInABatch) {
  EventParser parser(3);
  Piece first(
      R"({"ph":"X","name":"a","pid":1,"ts":1,"args":{"k":1}},{"ph":"X","name":"a","pid":1,"ts":2})");
  Piece second(
      R"({"ph":"X","name":"a","pid":1,"ts":3,"args":{"k":1}},{"ph":"X","name":"b","pid":1,"ts":4})");
  ASSERT_TRUE(first.parse(parser));
  ASSERT_TRUE(second.parse(parser));
  EXPECT_EQ(first.batch.parser, 3u);
  EXPECT_EQ(first.batch.new_labels.size(), 1u);
  EXPECT_EQ(first.batch.new_columns.size(), 1u);
  EXPECT_EQ(second.batch.new_strings, std::vector<std::string_view>{"b"});
  EXPECT_EQ(second.batch.new_labels.size(), 1u);
  EXPECT_TRUE(second.batch.new_threads.empty());
  EXPECT_TRUE(second.batch.new_columns.empty());
}

TEST(EventParser, RefusesWhatIsNotWholeEvents) {
  EventParser parser(0);
  for (const char* text : {
           R"({"ph":"X","name":"a","ts":1)",                        // cut
           R"({"ph":"X","name":"a","ts":1,"args":{"l":[{"ph":1})",  // cut in a list
           R"({"ph":"X","name":"a)",                                // cut in a string
           R"("ph":"X"})",                                          // starts inside
           R"({"ph":"X","ts":1}],"otherData":[{"name":1})",         // the list ends inside
           R"({"ph":"X","ts":1}]})",                                //
           R"({"ph":"X","ts":1} {"ph":"X","ts":1})",                // no comma
           R"({"ph":"X","ts":1},)",                                 // nothing after it
           R"({"ph":"X","ts":1},5)",                                // no event
           R"({"ph":"X","name":"a"b","ts":1})",                     // a quote too many
           R"({"ph":"X","name":"a"b"c","ts":1})",                   //
           R"({"ph" "X","ts":1})",                                  // no colon
           R"({ph:"X","ts":1})",                                    // no quotes
           "{\"ph\":\"X\",\"name\":\"\x01\",\"ts\":1}",             // a control character
           "{\"ph\":\"X\",\"name\":\"\xff\",\"ts\":1}",             // no UTF-8
       }) {
    Piece piece(text);
    EXPECT_FALSE(piece.parse(parser)) << text;
    EXPECT_TRUE(piece.batch.events.empty());
  }
  Piece good(R"({"ph":"X","name":"a","ts":1})");
  EXPECT_TRUE(good.parse(parser)) << "a parser goes on after damage";
}

}  // namespace
}  // namespace stepscope
