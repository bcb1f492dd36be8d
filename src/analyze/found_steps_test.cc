#include "analyze/found_steps.h"

#include <gtest/gtest.h>

#include "analyze/hand_made_loop.h"
#include "analyze/step_spans.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

using Steps = std::vector<Interval>;

Steps find(HandMadeLoop& loop) {
  const Trace trace = loop.made.build();
  return find_steps(trace, TrainingThread(trace));
}

TEST(FoundSteps, PlainLoopHasAStepFromEachFetchToTheNext) {
  HandMadeLoop loop;
  const int64_t first_ns = loop.now_ns;
  loop.zero_grad().fetch().forward().backward().optimize().op("aten::item", 5);
  const int64_t second_ns = loop.now_ns;
  loop.fetch().forward().backward().optimize();
  const int64_t last_end_ns = loop.now_ns - HandMadeLoop::kGapNs;
  EXPECT_EQ(find(loop), (Steps{{first_ns + 15, second_ns}, {second_ns, last_end_ns}}));
}

TEST(FoundSteps, FetchThatFindsTheLoaderExhaustedEndsTheLastStep) {
  HandMadeLoop loop;
  loop.fetch().forward().backward().optimize().op("aten::item", 5);
  const int64_t end_ns = loop.now_ns;
  loop.fetch();
  EXPECT_EQ(find(loop), (Steps{{1000, end_ns}}));
}

TEST(FoundSteps, AccumulationOfGradientsIsOneStep) {
  HandMadeLoop loop;
  Steps expected;
  for (int step = 0; step < 3; ++step) {
    const int64_t begin_ns = loop.now_ns;
    for (int i = 0; i < 4; ++i) loop.fetch().forward().backward();
    loop.optimize();
    expected.push_back({begin_ns, loop.now_ns});
  }
  loop.fetch();
  EXPECT_EQ(find(loop), expected);
}

TEST(FoundSteps, TwoOptimizersBetweenFetchesAreOneStep) {
  HandMadeLoop loop;
  Steps expected;
  for (int step = 0; step < 3; ++step) {
    const int64_t begin_ns = loop.now_ns;
    loop.fetch().forward().backward().optimize().forward().backward().optimize();
    expected.push_back({begin_ns, loop.now_ns});
  }
  loop.fetch();
  EXPECT_EQ(find(loop), expected);
}

TEST(FoundSteps, ValidationIsInNoStep) {
  HandMadeLoop loop;
  Steps expected;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (int step = 0; step < 2; ++step) {
      const int64_t begin_ns = loop.now_ns;
      loop.fetch().forward().backward().optimize();
      expected.push_back({begin_ns, loop.now_ns});
    }
    loop.fetch().op("aten::random_", 5);
    for (int batch = 0; batch < 3; ++batch) loop.fetch().forward();
    loop.fetch().op("aten::random_", 5);
  }
  EXPECT_EQ(find(loop), expected);
}

TEST(FoundSteps, ValidationInAnAccumulationBeginsTheStepAnew) {
  HandMadeLoop loop;
  loop.fetch().forward().backward().fetch().op("aten::random_", 5);
  loop.fetch().forward().fetch().op("aten::random_", 5);
  const int64_t begin_ns = loop.now_ns;
  loop.fetch().forward().backward().fetch().forward().backward().optimize();
  EXPECT_EQ(find(loop), (Steps{{begin_ns, loop.now_ns - HandMadeLoop::kGapNs}}));
}

TEST(FoundSteps, LoadersSideBySideAreBothOfTheStep) {
  HandMadeLoop loop;
  Steps expected;
  for (int step = 0; step < 3; ++step) {
    const int64_t begin_ns = loop.now_ns;
    loop.fetch().fetch().forward().backward().optimize();  // zip(a, b)
    expected.push_back({begin_ns, loop.now_ns});
  }
  loop.fetch();
  EXPECT_EQ(find(loop), expected);

  HandMadeLoop with_copies;
  expected.clear();
  for (int step = 0; step < 3; ++step) {
    const int64_t begin_ns = with_copies.now_ns;
    with_copies.fetch().op("aten::to", 5).fetch().op("aten::to", 5);
    with_copies.forward().backward().optimize();
    expected.push_back({begin_ns, with_copies.now_ns});
  }
  with_copies.fetch();
  EXPECT_EQ(find(with_copies), expected);
}

TEST(FoundSteps, WithoutALoaderAStepEndsWithItsOptimizer) {
  HandMadeLoop loop;
  loop.forward().backward().optimize();
  const int64_t second_ns = loop.now_ns - HandMadeLoop::kGapNs;
  loop.op("aten::item", 5).forward().backward().optimize();
  EXPECT_EQ(find(loop),
            (Steps{{1000, second_ns}, {second_ns, loop.now_ns - HandMadeLoop::kGapNs}}));
}

TEST(FoundSteps, WithoutALoaderOptimizersOfOtherNamesAreOfOneStep) {
  HandMadeLoop loop;
  for (int step = 0; step < 3; ++step) {
    loop.forward().backward().optimize("Optimizer.step#Adam.step");
    loop.forward().backward().optimize("Optimizer.step#SGD.step");
  }
  EXPECT_EQ(find(loop).size(), 3u);
}

TEST(FoundSteps, OneFetchForManyOptimizerStepsDoesNotMakeThemOneStep) {
  HandMadeLoop loop;
  loop.fetch();
  for (int step = 0; step < 20; ++step) loop.forward().backward().optimize();
  // Only the validation has a loader.
  const int64_t validation_ns = loop.now_ns;
  for (int batch = 0; batch < 3; ++batch) loop.fetch().forward();
  const int64_t exhausted_ns = loop.now_ns;
  loop.fetch();
  for (int step = 0; step < 20; ++step) loop.forward().backward().optimize();
  const Steps steps = find(loop);
  ASSERT_EQ(steps.size(), 40u);
  EXPECT_EQ(steps[0].begin_ns, 1000);
  EXPECT_EQ(steps[19].end_ns, validation_ns);
  EXPECT_EQ(steps[20].begin_ns, exhausted_ns);
}

TEST(FoundSteps, FirstStepWithoutALoaderBeginsWithTheOperatorOfItsOldestNode) {
  HandMadeLoop loop;
  HandMadeTrace& made = loop.made;
  loop.op("aten::empty", 10).op("aten::uniform_", 10);  // the model is made
  made.set_int(made.op("aten::randn", loop.now_ns, 10), "Sequence number", 7);
  loop.pass(10);
  const int64_t begin_ns = loop.now_ns;
  made.op("aten::linear", begin_ns, 50);
  made.set_int(made.op("aten::t", begin_ns + 5, 10), "Sequence number", 7);
  made.set_int(made.op("aten::addmm", begin_ns + 20, 10), "Sequence number", 8);
  loop.pass(50);
  made.set_int(made.op("autograd::engine::evaluate_function: AddmmBackward0", loop.now_ns, 10),
               "Sequence number", 8);
  made.set_int(made.op("autograd::engine::evaluate_function: TBackward0", loop.now_ns + 10, 10),
               "Sequence number", 7);
  made.set_int(made.op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
                       loop.now_ns + 20, 10),
               "Sequence number", 0);
  loop.pass(30).optimize();
  EXPECT_EQ(find(loop), (Steps{{begin_ns, loop.now_ns - HandMadeLoop::kGapNs}}));
}

TEST(FoundSteps, FirstStepWithoutALoaderBeginsWithZeroGrad) {
  HandMadeLoop loop;
  loop.op("aten::uniform_", 10);
  const int64_t begin_ns = loop.now_ns;
  loop.zero_grad().forward().backward().optimize();
  EXPECT_EQ(find(loop).front().begin_ns, begin_ns);
}

TEST(FoundSteps, FirstStepWithoutALoaderBeginsWithTheFirstModuleWhereNothingElseTells) {
  HandMadeLoop loop;
  loop.op("aten::uniform_", 10);
  const int64_t begin_ns = loop.now_ns;
  loop.made.python("nn.Module: Linear_0", loop.now_ns, 60);
  loop.forward().backward().optimize();
  EXPECT_EQ(find(loop).front().begin_ns, begin_ns);
}

TEST(FoundSteps, ClosureOfAnOptimizerIsPartOfIt) {
  HandMadeLoop loop;
  Steps expected;
  for (int step = 0; step < 3; ++step) {
    const int64_t begin_ns = loop.now_ns;
    loop.fetch();
    loop.made.annotation("Optimizer.step#LBFGS.step", loop.now_ns, 500);
    loop.zero_grad().forward().backward().zero_grad().forward().backward();
    loop.now_ns = begin_ns + 1000;
    expected.push_back({begin_ns, loop.now_ns});
  }
  loop.fetch();
  EXPECT_EQ(find(loop), expected);
}

TEST(FoundSteps, BackwardNodesMayRunOnAnotherThread) {
  HandMadeLoop loop;
  HandMadeTrace& made = loop.made;
  const TrackId engine = made.builder().add_thread(ForeignId{1}, ForeignId{2});
  Steps expected;
  for (int step = 0; step < 2; ++step) {
    const int64_t begin_ns = loop.now_ns;
    for (int i = 0; i < 2; ++i) {
      loop.fetch().forward();
      made.add(engine, "autograd::engine::evaluate_function: AddmmBackward0", "cpu_op",
               SliceKind::kOperator, loop.now_ns, 50);
      loop.pass(50);
    }
    loop.optimize();
    expected.push_back({begin_ns, loop.now_ns});
  }
  loop.fetch();
  EXPECT_EQ(find(loop), expected);
}

TEST(FoundSteps, MarksOfBackwardStandBeforeNodes) {
  HandMadeLoop loop;
  HandMadeTrace& made = loop.made;
  const auto backward = [&] {
    made.add(made.thread(), "backward", "phase", SliceKind::kAnnotation, loop.now_ns, 80);
    loop.backward();
  };
  loop.fetch().forward();
  backward();
  loop.optimize();
  const int64_t end_ns = loop.now_ns;
  for (int batch = 0; batch < 2; ++batch) loop.fetch().forward().backward();  // forces, by grad()
  const int64_t begin_ns = loop.now_ns;
  loop.fetch().forward();
  backward();
  loop.optimize();
  EXPECT_EQ(find(loop), (Steps{{1000, end_ns}, {begin_ns, loop.now_ns - HandMadeLoop::kGapNs}}));
}

TEST(FoundSteps, ThreadWithMostOptimizerStepsIsTakenAndOtherRanksAreTold) {
  HandMadeLoop loop;
  const TrackId rank = loop.made.builder().add_thread(ForeignId{2}, ForeignId{2});
  loop.made.add(rank, "Optimizer.step#SGD.step", "user_annotation", SliceKind::kAnnotation, 0, 10);
  for (int step = 0; step < 3; ++step) loop.fetch().forward().backward().optimize();
  const Trace trace = loop.made.build();
  const auto table = steps(trace, {});
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->rows(), 3u);
  EXPECT_EQ(int_at(*table, "step", 2), 2);
  ASSERT_EQ(table->notes.size(), 2u);
  EXPECT_NE(table->notes[0].find("found from the calls of Optimizer.step"), std::string::npos);
  EXPECT_NE(table->notes[1].find("1 more"), std::string::npos);
}

TEST(FoundSteps, StepsOfTheProgramItselfAreTakenFirst) {
  HandMadeLoop loop;
  loop.made.step("ProfilerStep#3", 500, 2000);
  for (int step = 0; step < 3; ++step) loop.fetch().forward().backward().optimize();
  const Trace trace = loop.made.build();
  const auto spans = StepSpans::of(trace);
  EXPECT_EQ(spans->origin, StepOrigin::kScopes);
  EXPECT_EQ(spans->steps.size(), 1u);
  EXPECT_TRUE(spans->notes().empty());
}

TEST(FoundSteps, WithoutOptimizersThereAreNone) {
  HandMadeLoop loop;
  loop.fetch().forward().backward().fetch().forward().backward();
  EXPECT_TRUE(find(loop).empty());
}

}  // namespace
}  // namespace stepscope
