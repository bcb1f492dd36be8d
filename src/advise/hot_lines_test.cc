#include "advise/hot_lines.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "advise/hand_made_training.h"

namespace stepscope {
namespace {

// A finding about a function, and how many looks, taken in steady steps, were at its lines 9, 10,
// ...
Finding tell(const std::vector<int>& looks, std::string title) {
  HandMadeTraining training;
  for (int i = 0; i < 10; ++i) {
    training.step([&] { training.function("augment", [&] { training.pass(10'000); }); });
  }
  TraceBuilder& builder = training.made.builder();
  const FrameId function =
      builder.add_frame({builder.string("augment"), builder.string("/home/me/train.py"), 7});
  int64_t time_ns = 40'000'000;
  for (size_t i = 0; i < looks.size(); ++i) {
    const StackId stack = builder.add_stack({kNoStack, function, static_cast<int32_t>(9 + i)});
    for (int look = 0; look < looks[i]; ++look, time_ns += 1'000'000) {
      builder.add_sample(training.made.thread(), time_ns, stack, 1'000'000, -1,
                         kSampleHeldGil | kSampleBesideCalls);
    }
  }
  const Trace trace = training.made.build();
  const Case c(trace);
  Findings findings(1);
  findings[0].where = "/home/me/train.py:7 augment";
  findings[0].title = std::move(title);
  tell_hot_lines(c, trace, findings);
  return findings[0];
}

constexpr const char* kTitle = "60 % is in /home/me/train.py:7 augment";

TEST(HotLines, TheLineWithMostOfTheTimeIsTold) {
  const Finding finding = tell({20, 10}, kTitle);
  ASSERT_EQ(finding.figures.size(), 1u);
  EXPECT_EQ(finding.figures[0].name, "in line 9");
  EXPECT_NEAR(finding.figures[0].value, 2.0 / 3, 1e-9);
  EXPECT_EQ(finding.title, std::string(kTitle) + ", most of it in line 9");
  EXPECT_EQ(finding.where, "/home/me/train.py:7 augment");
}

TEST(HotLines, OneThatHasLessThanHalfIsToldWithItsShare) {
  EXPECT_EQ(tell({12, 8, 10}, kTitle).title, std::string(kTitle) + ", 40 % of it in line 9");
}

TEST(HotLines, TimeThatIsSpreadOverManyLinesHasNoHotOne) {
  EXPECT_EQ(tell({8, 8, 8, 8, 8}, kTitle).title, kTitle);
}

TEST(HotLines, FewLooksTellNothing) {
  EXPECT_EQ(tell({10, 9}, kTitle).title, kTitle);
  EXPECT_TRUE(tell({10, 9}, kTitle).figures.empty());
}

TEST(HotLines, ATitleThatEndsOtherwiseStaysAsItIs) {
  const Finding finding = tell({20, 10}, "the step waits for the DataLoader");
  EXPECT_EQ(finding.title, "the step waits for the DataLoader");
  EXPECT_EQ(finding.figures.size(), 1u);
}

}  // namespace
}  // namespace stepscope
