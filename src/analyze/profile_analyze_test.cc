#include "analyze/profile_analyze.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "analyze/hand_made_trace.h"
#include "analyze/profile_text.h"

namespace stepscope {
namespace {

constexpr char kFloats[] = R"(["float","float"])";

ProfileAnalysis analyze(HandMadeTrace& made, const ProfileQuery& query = {.top = 0}) {
  const Trace trace = made.build();
  auto analysis = analyze_profile(trace, query);
  EXPECT_TRUE(analysis.ok()) << analysis.status().message();
  return *std::move(analysis);
}

std::vector<std::string> names(const std::vector<ProfileRow>& rows) {
  std::vector<std::string> result;
  for (const ProfileRow& row : rows) result.push_back(row.name);
  return result;
}

void add_product(HandMadeTrace& made, int64_t start_ns, int64_t dur_ns) {
  const SliceRef slice = made.op("aten::mm", start_ns, dur_ns);
  made.set_json(slice, "Input Dims", "[[8, 16], [16, 4]]");
  made.set_json(slice, "Input type", kFloats);
}

TEST(ProfileAnalyze, AnOperatorOfKnownCostIsOneWithAllThatItCalls) {
  HandMadeTrace made;
  made.op("aten::matmul", 0, 3'000);
  add_product(made, 500, 2'000);
  made.op("aten::empty", 600, 100);
  const ProfileAnalysis analysis = analyze(made);
  EXPECT_EQ(names(analysis.device), (std::vector<std::string>{"aten::mm", "aten::matmul"}));
  EXPECT_DOUBLE_EQ(analysis.device[0].time_s, 2e-6);
  EXPECT_DOUBLE_EQ(analysis.device[0].flops_per_s(), 1024 / 2e-6);
  EXPECT_EQ(analysis.device[0].memory, 4 * (8 * 16 + 16 * 4 + 8 * 4));
  EXPECT_EQ(analysis.device[0].out_shapes, (std::vector<Shape>{{8, 4}}));
  EXPECT_DOUBLE_EQ(analysis.device[1].time_s, 1e-6);  // its own
  EXPECT_DOUBLE_EQ(analysis.device_s, 3e-6);
}

TEST(ProfileAnalyze, DeviceTimeIsThatOfTheKernelsWhichACallLaunched) {
  HandMadeTrace made;
  add_product(made, 0, 2'000);
  made.launch(500, 100, 7);
  made.kernel("sgemm", 5'000, 9'000, 7);
  made.op("aten::view", 3'000, 1'000);
  const ProfileAnalysis analysis = analyze(made);
  EXPECT_EQ(names(analysis.device), std::vector<std::string>{"aten::mm"});
  EXPECT_DOUBLE_EQ(analysis.device[0].time_s, 9e-6);
  EXPECT_EQ(names(analysis.host), (std::vector<std::string>{"aten::mm", "aten::view"}));
}

TEST(ProfileAnalyze, NamesBeginWithTheModule) {
  HandMadeTrace made;
  made.add(made.thread(), "nn.Module: layers.0 (Linear)", "nn_module", SliceKind::kAnnotation, 0,
           5'000);
  add_product(made, 500, 2'000);
  add_product(made, 6'000, 1'000);
  const ProfileAnalysis analysis = analyze(made);
  EXPECT_EQ(names(analysis.device), (std::vector<std::string>{"layers.0.aten::mm", "aten::mm"}));
}

TEST(ProfileAnalyze, WhatIsMissingIsLastInBothOrders) {
  for (const char* order : {"flops", "+flops"}) {
    HandMadeTrace made;
    made.op("aten::view", 0, 9'000);
    add_product(made, 10'000, 2'000);
    const ProfileAnalysis analysis = analyze(made, {.order_by = order});
    EXPECT_EQ(names(analysis.device), (std::vector<std::string>{"aten::mm", "aten::view"}));
  }
}

TEST(ProfileAnalyze, AMeanIsByAllOperatorsAndALargestByThoseThatHaveAny) {
  const auto aggregate = [](Aggregate how) {
    HandMadeTrace made;
    add_product(made, 0, 2'000);
    made.op("aten::view", 3'000, 4'000);
    return analyze(made, {.aggregate = how}).device.at(0);
  };
  EXPECT_EQ(aggregate(Aggregate::kSum).computation, 1024);
  EXPECT_EQ(aggregate(Aggregate::kMean).computation, 512);
  EXPECT_EQ(aggregate(Aggregate::kMin).computation, 1024);
  EXPECT_DOUBLE_EQ(aggregate(Aggregate::kMax).time_s, 4e-6);
  EXPECT_EQ(aggregate(Aggregate::kMax).count, 2u);
}

TEST(ProfileAnalyze, ATraceWithoutOperatorsSaysSo) {
  HandMadeTrace made;
  made.python("main", 0, 1'000);
  const ProfileAnalysis analysis = analyze(made);
  EXPECT_TRUE(analysis.device.empty());
  ASSERT_FALSE(analysis.notes.empty());
  EXPECT_NE(profile_summary(analysis, {}).find("N/A"), std::string::npos);
  EXPECT_FALSE(profile_rows(analysis, false, {}).empty());
}

TEST(ProfileAnalyze, SumsAreAsExactAsTheOriginals) {
  const std::vector<double> values(1000, 0.1);
  EXPECT_EQ(pairwise_sum(values.data(), values.size()), 100.00000000000001);  // numpy's
  EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0.0), 99.9999999999986);
}

}  // namespace
}  // namespace stepscope
