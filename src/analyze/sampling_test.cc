#include "analyze/sampling.h"

#include <gtest/gtest.h>

#include "analyze/hand_made_trace.h"
#include "trace/torch_scopes.h"

namespace stepscope {
namespace {

class Sampling : public testing::Test {
 protected:
  // A stretch of sampling on the collector's own thread, and its windows.
  void add(int64_t start_ns, int64_t dur_ns, const std::vector<int64_t>& windows_ns,
           int64_t pid = 1) {
    const TrackId thread = made_.builder().add_thread(ForeignId{pid}, ForeignId{99});
    const auto add_slice = [&](std::string_view name, int64_t start, int64_t dur) {
      made_.add(thread, name, kSamplingCategory, SliceKind::kOther, start, dur);
    };
    add_slice("operators are sampled", start_ns, dur_ns);
    for (const int64_t window_ns : windows_ns) {
      add_slice("operators are recorded", start_ns + 1, window_ns);
      start_ns += window_ns + 1;
    }
  }

  HandMadeTrace made_;
};

TEST_F(Sampling, IsOfNothingWhereAllWasRecorded) {
  made_.op("aten::mm", 0, 100);
  EXPECT_EQ(operator_share(made_.build()), 1);
}

TEST_F(Sampling, IsTheShareOfTheWindows) {
  made_.op("aten::mm", 0, 100);
  add(0, 1000, {60, 40});
  EXPECT_DOUBLE_EQ(operator_share(made_.build()), 0.1);
}

TEST_F(Sampling, IsTakenOverAllProcessesAndStretches) {
  add(0, 1000, {100});
  add(5000, 1000, {200});
  add(0, 2000, {300}, 2);
  EXPECT_DOUBLE_EQ(operator_share(made_.build()), 0.15);
}

TEST_F(Sampling, WithoutAWindowThereIsNothingToScale) {
  add(0, 1000, {});
  EXPECT_EQ(operator_share(made_.build()), 1);
}

TEST_F(Sampling, OfMoreThanTheWholeIsNotBelieved) {
  add(0, 100, {50});
  made_.add(made_.builder().add_thread(ForeignId{1}, ForeignId{99}), "x", kSamplingCategory,
            SliceKind::kOther, 10, 90);
  add(200, 1, {});
  EXPECT_EQ(operator_share(made_.build()), 1);
}

}  // namespace
}  // namespace stepscope
