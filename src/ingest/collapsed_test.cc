#include "ingest/collapsed.h"

#include <gtest/gtest.h>

#include <string>

#include "ingest/trace_for_tests.h"
#include "trace/call_tree.h"

namespace stepscope {
namespace {

// Stacks with their weights, a line per sample.
std::string samples_as_text(const Trace& trace) {
  std::string lines;
  const SampleColumns& samples = trace.samples();
  for (size_t i = 0; i < samples.time_ns.size(); ++i) {
    std::string path;
    for (StackId stack = samples.stack[i]; stack != kNoStack;
         stack = trace.stacks()[index(stack)].parent) {
      const Frame& frame = trace.frames()[index(trace.stacks()[index(stack)].frame)];
      std::string text(trace.string(frame.name));
      if (frame.file != kEmptyString) {
        text += "@" + std::string(trace.string(frame.file)) + ":" + std::to_string(frame.line);
      }
      path = path.empty() ? text : text + "|" + path;
    }
    lines += std::to_string(samples.time_ns[i]) + " " + path + " " +
             std::to_string(samples.weight_ns[i]) + "\n";
  }
  return lines;
}

TEST(Collapsed, ALineIsASampleOfItsWeight) {
  const Trace trace = load_json("main;a;b 3\nmain;a 4\r\n\n# a comment\nmain\t 50\n");
  EXPECT_EQ(trace.format(), "collapsed stacks");
  EXPECT_EQ(samples_as_text(trace), "0 main|a|b 3\n3 main|a 4\n7 main 50\n");
  EXPECT_FALSE(trace.stats().has_faults());
}

TEST(Collapsed, FunctionsAreTakenApart) {
  const Trace trace = load_json(
      "main (/a/b.py:1);torch/nn/module.py(1194): _call_impl;std::vector<int> (x) 7\nx;y 1\n");
  EXPECT_EQ(samples_as_text(trace),
            "0 main@/a/b.py:1|_call_impl@torch/nn/module.py:1194|std::vector<int> (x) 7\n"
            "7 x|y 1\n");
}

TEST(Collapsed, OnlyOurOwnWeightsAreTimes) {
  EXPECT_EQ(load_json("# stepscope: weights in ns\nmain 3\n").find_metadata("weight_unit"), "");
  EXPECT_EQ(load_json("# stepscope: weights in bytes\nmain 3\n").find_metadata("weight_unit"),
            "bytes");
  const Trace foreign = load_json("a;b 3\n");
  EXPECT_EQ(foreign.find_metadata("weight_unit"), "none");
  ASSERT_EQ(foreign.stats().notes().size(), 1u);
  EXPECT_TRUE(foreign.stats().notes()[0].starts_with("the file does not tell"));
}

TEST(Collapsed, TextOfAnotherShapeIsRefused) {
  for (const std::string text :
       {"hello 3\nworld 4\n",          // no path
        "main;a 3\nno number here\n",  // one line has another shape
        "main;a -3\n", "main;a\n", "a;b 1e5\n", "a;b 0x10\n", " 3;\n", "3\n", " 3\n",
        "# only a comment\n", "a;b 3\n\x01\x02;c 4\n", "usage: x [-h]; see 3\nmore of it\n"}) {
    const std::string fault = load_fault(text);
    EXPECT_TRUE(fault.starts_with("test.json: not a trace in a format that stepscope knows"))
        << text << fault;
  }
}

TEST(Collapsed, BadLinesBehindTheHeadAreCounted) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += "main;f" + std::to_string(i % 7) + " 10\n";
  text += "what is this\nmain;late 2.5\n";
  const Trace trace = load_json(text);
  EXPECT_EQ(trace.samples().time_ns.size(), 10'001u);
  EXPECT_EQ(stat(trace, Stat::kEventsRead), 10'002u);
  EXPECT_EQ(stat(trace, Stat::kEventsSkipped), 1u);
  EXPECT_EQ(trace.stats().notes()[0], "line 10001: no stack with a number; skipped");
  EXPECT_EQ(trace.stats().notes()[1], "weights are rounded to whole numbers");
}

TEST(Collapsed, ALineWithoutAStackIsCountedAsThat) {
  EXPECT_EQ(samples_as_text(load_json("a;b 3\n 33\n")), "0 a|b 3\n3 [no stack] 33\n");
}

TEST(Collapsed, AFrameInBracketsIsNoJson) {
  EXPECT_EQ(samples_as_text(load_json("[unknown];main 3\n")), "0 [unknown]|main 3\n");
}

TEST(Collapsed, HugeWeightsAndDeepStacksAreHeld) {
  std::string text = "# stepscope: weights in ns\n";
  for (int i = 0; i < 60'000; ++i) text += "dive;";
  text += "end 99999999999999999999999999\n";
  const Trace trace = load_json(text);
  EXPECT_EQ(trace.stacks().size(), 60'001u);
  EXPECT_EQ(trace.samples().weight_ns[0], int64_t{1} << 55);
  EXPECT_EQ(CallTree::build(trace, {}).nodes().size(), 60'002u);
}

}  // namespace
}  // namespace stepscope
