#include "trace/sampled_calls.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "trace/trace_builder.h"

namespace stepscope {
namespace {

class SampledTrace {
 public:
  SampledTrace() : thread_(builder_.add_thread(ForeignId{1}, ForeignId{2})) {}

  StackId stack(StackId parent, std::string_view name, int32_t line = 0) {
    const FrameId frame = builder_.add_frame({builder_.string(name), kEmptyString, 0});
    return builder_.add_stack({parent, frame, line});
  }
  void sample(int64_t time_ns, StackId stack) { builder_.add_sample(thread_, time_ns, stack, 10); }
  // "main 0+30 @0; work 10+10 @1; "
  std::string calls() {
    const Trace trace = build_sampled_calls(std::move(builder_).finish());
    std::string text;
    for (uint32_t row = 0; row < trace.slices().size(); ++row) {
      text += std::string(trace.slice_name(SliceId{row})) + " " +
              std::to_string(trace.slices().start_ns[row]) + "+" +
              std::to_string(trace.slices().dur_ns[row]) + " @" +
              std::to_string(trace.slices().depth[row]) + "; ";
    }
    return text;
  }

 private:
  TraceBuilder builder_;
  TrackId thread_;
};

TEST(SampledCalls, WhatIsInSamplesInARowIsOneCall) {
  SampledTrace made;
  const StackId main = made.stack(kNoStack, "main");
  const StackId work = made.stack(main, "work");
  made.sample(0, main);
  made.sample(10, work);
  made.sample(20, work);
  made.sample(30, main);
  EXPECT_EQ(made.calls(), "main 0+40 @0; work 10+20 @1; ");
}

TEST(SampledCalls, APauseEndsThem) {
  SampledTrace made;
  const StackId main = made.stack(kNoStack, "main");
  made.sample(0, main);
  made.sample(13, main);   // a little late
  made.sample(100, main);  // after a pause
  EXPECT_EQ(made.calls(), "main 0+23 @0; main 100+10 @0; ");
}

TEST(SampledCalls, TheSameFunctionUnderAnotherCallerIsAnotherCall) {
  SampledTrace made;
  const StackId main = made.stack(kNoStack, "main");
  const StackId a = made.stack(made.stack(main, "a"), "work");
  const StackId b = made.stack(made.stack(main, "b"), "work");
  made.sample(0, a);
  made.sample(10, b);
  EXPECT_EQ(made.calls(), "main 0+20 @0; a 0+10 @1; work 0+10 @2; b 10+10 @1; work 10+10 @2; ");
}

TEST(SampledCalls, DeepStacksAreCut) {
  SampledTrace made;
  StackId stack = kNoStack;
  for (int i = 0; i < 1'000; ++i) stack = made.stack(stack, "f");
  made.sample(0, stack);
  const std::string calls = made.calls();
  EXPECT_NE(calls.find("@63;"), std::string::npos);
  EXPECT_EQ(calls.find("@64;"), std::string::npos);
}

TEST(SampledCalls, AFunctionStaysOneCallWhileItsLineChanges) {
  SampledTrace made;
  const StackId main = made.stack(kNoStack, "main", 3);
  const StackId later = made.stack(kNoStack, "main", 4);
  made.sample(0, made.stack(main, "work", 8));
  made.sample(10, made.stack(main, "work", 9));
  made.sample(20, made.stack(later, "work", 8));
  EXPECT_EQ(made.calls(), "main 0+30 @0; work 0+30 @1; ");
}

}  // namespace
}  // namespace stepscope
