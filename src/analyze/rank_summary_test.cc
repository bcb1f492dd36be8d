#include "analyze/rank_summary.h"

#include <gtest/gtest.h>

#include "analyze/hand_made_trace.h"
#include "analyze/job_for_tests.h"

namespace stepscope {
namespace {

// Two steps of 1 ms: a kernel of 400 us, an all_reduce of 500 us of which 100 us are hidden.
HandMadeTrace make_training() {
  HandMadeTrace made;
  const TrackId comm = made.add_stream(0, 20);
  for (int64_t i = 0; i < 2; ++i) {
    const int64_t at = i * 1'000'000;
    made.step("ProfilerStep#" + std::to_string(5 + i), at, 1'000'000);
    made.op("aten::mm", at + 10'000, 20'000);
    made.launch(at + 15'000, 5'000, 10 + 2 * i);
    made.kernel("sgemm", at + 100'000, 400'000, 10 + 2 * i);
    made.annotation("nccl:all_reduce", at + 40'000, 20'000);
    made.launch(at + 45'000, 5'000, 11 + 2 * i);
    const SliceRef kernel = made.device_work(comm, "ncclKernel_AllReduce_RING_LL_Sum_float",
                                             SliceKind::kKernel, at + 400'000, 500'000, 11 + 2 * i);
    made.set_string(kernel, "Collective name", "allreduce");
    made.set_int(kernel, "In msg nelems", 1000);
    made.set_int(kernel, "Out msg nelems", 1000);
    made.set_string(kernel, "dtype", "BFloat16");
    made.set_string(kernel, "Process Group Name", "3");
    made.set_string(kernel, "Process Group Ranks", "[0, 4]");
    made.set_int(kernel, "Seq", 70 + i);
  }
  made.builder().add_metadata("distributedInfo", R"({"rank": 4, "world_size": 8})", true);
  return made;
}

TEST(RankSummary, HasTheUnionsOfEachStep) {
  HandMadeTrace made = make_training();
  const RankSummary summary = summarize_rank(made.build(), {});
  EXPECT_EQ(summary.rank, 4);
  EXPECT_EQ(summary.world_size, 8);
  ASSERT_EQ(summary.steps.size(), 2u);
  const RankStep& step = summary.steps[0];
  EXPECT_EQ(step.compute_ns, 400'000);
  EXPECT_EQ(step.communication_ns, 500'000);
  EXPECT_EQ(step.overlap_ns, 100'000);
  EXPECT_EQ(step.idle_ns, step.span.end_ns - step.span.begin_ns - 400'000 - 500'000 + 100'000);
  ASSERT_EQ(summary.kernels.size(), 1u);
  EXPECT_EQ(summary.kernels[0].name, "sgemm");
}

TEST(RankSummary, ARecordingTellsItsRankByItself) {
  HandMadeTrace made;
  made.builder().add_metadata("rank", "3", false);
  made.builder().add_metadata("world_size", "4", false);
  const Trace trace = made.build();
  const RankSummary summary = summarize_rank(trace, {.source = "rank-7.sscope"});
  EXPECT_EQ(summary.rank, 3);
  EXPECT_EQ(summary.world_size, 4);
  EXPECT_EQ(summary.rank_origin, RankOrigin::kTrace);
}

TEST(RankSummary, HasCollectivesWithGroupSizeAndNumber) {
  HandMadeTrace made = make_training();
  const RankSummary summary = summarize_rank(made.build(), {});
  ASSERT_EQ(summary.calls.size(), 2u);
  ASSERT_EQ(summary.shapes.size(), 1u);
  EXPECT_EQ(summary.shapes[0].type, CollectiveType::kAllReduce);
  EXPECT_EQ(summary.shapes[0].bytes, 2000);
  EXPECT_EQ(summary.groups[0].name, "3");
  EXPECT_EQ(summary.groups[0].ranks, (std::vector<int32_t>{0, 4}));
  EXPECT_EQ(summary.calls[1].sequence, 71);
  EXPECT_EQ(summary.calls[1].step, 1);
  EXPECT_EQ(summary.calls[0].exposed_from_ns, 500'000);
  EXPECT_EQ(summary.calls[0].exposed_ns, 400'000);
}

TEST(RankSummary, OlderTracesTellSizesByTheScopeOfTheLaunch) {
  HandMadeTrace made;
  const SliceRef scope = made.annotation("nccl:all_reduce", 0, 100);
  made.set_json(scope, "Input Dims", "[[16, 4]]");
  made.set_json(scope, "Input type", "[\"float\"]");
  made.launch(10, 20, 5);
  made.kernel("ncclKernel_AllReduce_RING_LL_Sum_float", 200, 1000, 5);
  const RankSummary summary = summarize_rank(made.build(), {});
  ASSERT_EQ(summary.shapes.size(), 1u);
  EXPECT_EQ(summary.shapes[0].bytes, 256);
  EXPECT_EQ(summary.shapes[0].dtype, "float");
}

TEST(RankSummary, AllCollectivesOfOneLaunchAreOfItsScope) {
  HandMadeTrace made;
  made.step("ProfilerStep#1", 0, 1000);
  const SliceRef scope = made.annotation("nccl:all_reduce", 10, 100);
  made.set_json(scope, "Input Dims", "[[16, 4]]");
  made.set_json(scope, "Input type", R"(["float"])");
  made.launch(20, 10, 3);
  made.kernel("ncclKernel_RING", 100, 50, 3);
  made.kernel("ncclKernel_RING", 200, 50, 3);
  const RankSummary summary = summarize_rank(made.build(), {});
  ASSERT_EQ(summary.calls.size(), 2u);
  ASSERT_EQ(summary.shapes.size(), 1u);
  EXPECT_EQ(summary.shapes[0].type, CollectiveType::kAllReduce);
  EXPECT_EQ(summary.shapes[0].bytes, 256);
}

TEST(RankSummary, CollectivesOfAHostAreItsScopes) {
  HandMadeTrace made;
  made.op("aten::mm", 0, 100);
  made.op("gloo:all_reduce", 200, 300);
  const RankSummary summary = summarize_rank(made.build(), {});
  ASSERT_EQ(summary.calls.size(), 1u);
  EXPECT_FALSE(summary.has_device);
  EXPECT_EQ(summary.steps[0].communication_ns, 300);
  EXPECT_EQ(summary.steps[0].compute_ns, 100);
}

TEST(RankSummary, TheRankIsInTheNameOfTheFileWhereTheTraceDoesNotTell) {
  EXPECT_EQ(find_rank_in_name("a/rank-34.Jul_15.1074.pt.trace.json.gz"), 34);
  EXPECT_EQ(find_rank_in_name("job_rank_7.json"), 7);
  EXPECT_EQ(find_rank_in_name("trace.rank0012.json"), 12);
  EXPECT_EQ(find_rank_in_name("rank5/frankly.json"), -1);
  EXPECT_EQ(find_rank_in_name("rank.json"), -1);
}

TEST(RankSummaryCodec, GivesBackWhatWasWritten) {
  HandMadeTrace made = make_training();
  RankSummary summary = summarize_rank(made.build(), {.source = "rank4.json"});
  summary.notes = {"one", ""};
  const auto decoded = decode_summary(encode_summary(summary));
  ASSERT_TRUE(decoded) << decoded.status().message();
  EXPECT_EQ(*decoded, summary);
}

TEST(RankSummaryCodec, RefusesWhatIsCutShortOrChanged) {
  const std::vector<uint8_t> bytes = encode_summary(HandMadeJob(2).make().front());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_summary(std::span(bytes).first(size)));
  }
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::vector<uint8_t> changed = bytes;
    changed[at] ^= 0x40;
    EXPECT_FALSE(decode_summary(changed)) << at;
  }
}

}  // namespace
}  // namespace stepscope
