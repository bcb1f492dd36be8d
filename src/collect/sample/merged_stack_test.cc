#include "collect/sample/merged_stack.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace stepscope::sample {
namespace {

// Stacks as text, the innermost first. Python: "f" is called by Python, "F" by C. Native: a letter
// is code, "E" the interpreter's loop, "c" its caller, "i" its machinery, "_" a thread's begin.
std::vector<StackFrame> python_stack(std::string_view text) {
  std::vector<StackFrame> frames;
  for (const char c : text) {
    StackFrame frame;
    frame.is_entry = c >= 'A' && c <= 'Z';
    frames.push_back(frame);
  }
  return frames;
}

NativeStack native_stack(std::string_view text, bool is_whole) {
  NativeStack stack;
  stack.is_whole = is_whole;
  for (const char c : text) {
    NativeFrame frame;
    if (c == 'E') frame.role = NativeRole::kEval;
    if (c == 'c') frame.role = NativeRole::kEvalCaller;
    if (c == 'i') frame.role = NativeRole::kInterpreter;
    if (c == '_') frame.role = NativeRole::kThreadStart;
    stack.frames.push_back(frame);
  }
  return stack;
}

std::string merge(std::string_view python, std::string_view native, bool is_whole = true) {
  std::vector<MergedFrame> merged = {{true, 99}};  // of another thread
  merge_stacks(python_stack(python), native_stack(native, is_whole), merged);
  std::string text;
  for (const MergedFrame& frame : merged) {
    text += frame.is_native ? native[frame.index] : python[frame.index];
  }
  return text;
}

TEST(MergedStack, OneRunOfTheLoopStandsForAllFramesThatPythonCalled) {
  EXPECT_EQ(merge("pqR", "Ec__"), "pqR");
}

TEST(MergedStack, WhatAFunctionCallsLiesAboveIt) { EXPECT_EQ(merge("pR", "xyiiEc__"), "xypR"); }

TEST(MergedStack, NativeCodeThatCallsPythonLiesBetween) {
  EXPECT_EQ(merge("pQrS", "xEcyizEi__"), "xpQyzrS");
}

TEST(MergedStack, WhereEveryCallIsARunEachFrameHasItsOwn) {
  EXPECT_EQ(merge("PQR", "xEcEcyEc_"), "xPQyR");
}

TEST(MergedStack, WhatCalledTheOutermostFrameLiesBelow) {
  EXPECT_EQ(merge("pQ", "xEcyz_"), "xpQyz");
}

TEST(MergedStack, AThreadWithoutPythonHasItsNativeFrames) {
  EXPECT_EQ(merge("", "xyz__"), "xyz");
  EXPECT_EQ(merge("", "xyz", false), "xyz");
}

TEST(MergedStack, WithoutNativeFramesThoseOfPythonAreGiven) {
  EXPECT_EQ(merge("pQrS", "", false), "pQrS");
  EXPECT_EQ(merge("", "", false), "");
}

TEST(MergedStack, ARunWithoutAFrameYetIsPassed) {
  EXPECT_EQ(merge("pQ", "iEcxEc_"), "xpQ");
  EXPECT_EQ(merge("", "Ec_"), "");
}

TEST(MergedStack, ANativeStackThatWasCutOffLeavesTheOuterFramesToPython) {
  EXPECT_EQ(merge("pQrSTu", "xEcyEcz", false), "xpQyrSzTu");
  EXPECT_EQ(merge("pQrS", "xy", false), "xypQrS");
}

TEST(MergedStack, APythonStackThatWasCutOffIsARunAsWell) {
  EXPECT_EQ(merge("pQr", "xEcyEc_"), "xpQyr");
}

TEST(MergedStack, WhereTheTwoDoNotAgreeNothingIsGuessed) {
  // A loop without a name is machinery.
  EXPECT_EQ(merge("pQrS", "xEcyic_"), "xpQrS");
  // More runs than there can be.
  EXPECT_EQ(merge("pQ", "xEyEzEc_"), "xpQ");
  EXPECT_EQ(merge("pQ", "xEyEzEc", false), "xpQ");
  EXPECT_EQ(merge("pQ", "xyi_"), "xypQ");
}

}  // namespace
}  // namespace stepscope::sample
