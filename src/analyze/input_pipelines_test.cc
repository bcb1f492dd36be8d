#include "analyze/input_pipelines.h"

#include <gtest/gtest.h>

#include "analyze/hand_made_input.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

constexpr int64_t kUs = 1'000;

const InputStage& stage_named(const InputPipeline& pipeline, std::string_view name) {
  for (const InputStage& stage : pipeline.stages) {
    if (stage.name == name) return stage;
  }
  ADD_FAILURE() << "no stage " << name;
  return pipeline.stages.front();
}

std::string_view bottleneck_of(const InputPipeline& pipeline) {
  return pipeline.bottleneck == kNoStage
             ? ""
             : std::string_view(pipeline.stages[pipeline.bottleneck].name);
}

// Steps of 100 us of which the caller waits 80: a batch of 2, each 30 us in the map's function.
void add_sequential_steps(HandMadeInput& in, int steps) {
  for (int i = 0; i < steps; ++i) {
    const int64_t at = 100 * i;
    in.step(at, 100);
    in.call("main", "Iterator::Root", 1, 0, at, 80);
    in.set(in.call("main", "Iterator::Root::BatchV2", 2, 1, at + 2, 76), "batch_size", int64_t{2});
    for (int k = 0; k < 2; ++k) {
      const int64_t map = at + 4 + 36 * k;
      in.call("main", "Iterator::Root::BatchV2::Map", 3, 2, map, 35);
      in.call("main", "Iterator::Root::BatchV2::Map::Range", 4, 3, map + 1, 2);
      in.run("main", "Run", 100 + 2 * i + k, map + 4, 30);
      in.execute("main", 100 + 2 * i + k, map + 5, 28);
    }
  }
}

TEST(InputPipelines, NestedCallsGiveOwnTimesWaitsAndTheBottleneck) {
  HandMadeInput in;
  add_sequential_steps(in, 8);
  const Trace trace = in.finish();
  const auto input = InputPipelines::of(trace);
  ASSERT_EQ(input->pipelines.size(), 1u);
  const InputPipeline& pipeline = input->pipelines[0];
  ASSERT_EQ(pipeline.stages.size(), 4u);
  const InputStage& map = stage_named(pipeline, "Map");
  EXPECT_EQ(map.calls, 16u);
  EXPECT_EQ(map.total_ns, 16 * 35 * kUs);
  EXPECT_EQ(map.self_ns, 16 * 33 * kUs);
  EXPECT_EQ(map.wait_ns, map.self_ns);
  EXPECT_EQ(map.function_runs, 16u);
  EXPECT_EQ(map.function_ns, 16 * 28 * kUs);
  EXPECT_DOUBLE_EQ(map.calls_per_batch, 2);
  EXPECT_DOUBLE_EQ(map.batch_work_ns(), 66.0 * kUs);
  EXPECT_EQ(stage_named(pipeline, "BatchV2").self_ns, 8 * (76 - 70) * kUs);
  EXPECT_EQ(bottleneck_of(pipeline), "Map");
  EXPECT_EQ(pipeline.find_prefetch(), nullptr);
  ASSERT_EQ(pipeline.sections.size(), 1u);
  EXPECT_EQ(pipeline.requests.median_ns, 80 * kUs);
  EXPECT_EQ(pipeline.requests.count, 8u);
  EXPECT_NEAR(input->waits.share(), 0.8, 1e-9);
  EXPECT_FALSE(input->waits.is_estimated);
  EXPECT_TRUE(input->is_input_bound());
}

TEST(InputPipelines, ElementsJoinWhatAnotherThreadMadeByAllBitsOfIds) {
  constexpr int64_t kHighBits = INT64_MIN + 77;  // as unsigned: above 2^63
  HandMadeInput in;
  for (int i = 0; i < 6; ++i) {
    const int64_t at = 100 * i;
    in.call("python", "Iterator::Root", 1, 0, at, 50);
    const SliceRef prefetch =
        in.call("python", "Iterator::Root::Prefetch", kHighBits, 1, at + 1, 48);
    in.set(prefetch, "buffer_limit", int64_t{2});
    in.set(prefetch, "autotune", "true");
    in.consume("python", "Prefetch", 1000 + i, at + 48);
    in.produce("worker", "Prefetch", 1000 + i, at - 20, 60);
    in.call("worker", "Iterator::Root::Prefetch::TFRecord", 7, kHighBits, at - 19, 58);
  }
  const Trace trace = in.finish();
  const auto input = InputPipelines::of(trace);
  ASSERT_EQ(input->pipelines.size(), 1u);
  const InputPipeline& pipeline = input->pipelines[0];
  const InputStage& source = stage_named(pipeline, "TFRecord");
  EXPECT_EQ(source.calls, 6u);
  EXPECT_EQ(source.total_ns, 6 * 58 * kUs);
  EXPECT_EQ(source.wait_ns, 6 * 38 * kUs);  // from at + 1 to at + 39
  const InputStage& prefetch = stage_named(pipeline, "Prefetch");
  EXPECT_TRUE(prefetch.is_async);
  EXPECT_TRUE(prefetch.is_autotuned());
  EXPECT_EQ(prefetch.self_ns, 6 * 10 * kUs);
  EXPECT_EQ(prefetch.work_ns, 0);
  EXPECT_EQ(pipeline.find_prefetch(), &prefetch);
  EXPECT_EQ(bottleneck_of(pipeline), "TFRecord");
  EXPECT_TRUE(input->waits.is_estimated);
  EXPECT_EQ(input->orphans, 0u);
}

// The runner of a MapAndBatch reads an element in `read_us` and starts a function, which takes
// `dispatch_us` of its own and `function_us` of a pool's thread.
Trace make_map_and_batch(int64_t read_us, int64_t dispatch_us, int64_t function_us) {
  HandMadeInput in;
  const int64_t step = 2 * (read_us + dispatch_us) + function_us + 10;
  for (int i = 0; i < 8; ++i) {
    const int64_t at = step * i;
    in.step(at, step);
    in.set(in.call("python", "Iterator::Root", 1, 0, at, step - 5), "cpu_budget", int64_t{4});
    const SliceRef batch = in.call("python", "Iterator::Root::MapAndBatch", 2, 1, at + 1, step - 7);
    in.set(batch, "batch_size", int64_t{2});
    in.set(batch, "parallelism", int64_t{2});
    in.consume("python", "MapAndBatch", 50 + i, at + step - 7);
    for (int k = 0; k < 2; ++k) {
      const int64_t begin = at + 1 + k * (read_us + dispatch_us);
      in.produce("runner", "MapAndBatch", 50 + i, begin, read_us + dispatch_us);
      in.call("runner", "Iterator::Root::MapAndBatch::TFRecord", 3, 2, begin, read_us);
      in.run("runner", "RunAsync", 1000 + 2 * i + k, begin + read_us, dispatch_us);
      in.execute("pool " + std::to_string(k), 1000 + 2 * i + k, begin + read_us, function_us);
    }
  }
  return in.finish();
}

TEST(InputPipelines, FunctionsAreWorkAndWaitingForThemIsNot) {
  const Trace trace = make_map_and_batch(3, 1, 60);
  const auto input = InputPipelines::of(trace);
  const InputPipeline& pipeline = input->pipelines.at(0);
  const InputStage& batch = stage_named(pipeline, "MapAndBatch");
  EXPECT_EQ(batch.function_runs, 16u);
  EXPECT_DOUBLE_EQ(batch.batch_work_ns(), 2 * 60.0 * kUs);
  EXPECT_EQ(bottleneck_of(pipeline), "MapAndBatch");
  EXPECT_DOUBLE_EQ(pipeline.sections[batch.section].batch_ns, 60.0 * kUs);
  EXPECT_TRUE(pipeline.sections[batch.section].is_function);
  EXPECT_EQ(input->cores, 4);
}

TEST(InputPipelines, SlowSourceIsFoundBelowFunctionsThatWaitForAThread) {
  // The dispatch took long, as on a busy machine, but the function itself is short.
  const Trace trace = make_map_and_batch(20, 50, 1);
  const auto input = InputPipelines::of(trace);
  EXPECT_EQ(bottleneck_of(input->pipelines.at(0)), "TFRecord");
}

TEST(InputPipelines, InstancesAreOneStageAndInputsOfAZipAreNot) {
  HandMadeInput in;
  in.call("python", "Iterator::Root", 1, 0, 0, 100);
  in.call("python", "Iterator::Root::Zip", 2, 1, 1, 98);
  in.call("python", "Iterator::Root::Zip[0]::Interleave", 3, 2, 2, 40);
  in.call("python", "Iterator::Root::Zip[0]::Interleave[0]::TFRecord", 4, 3, 3, 10);
  in.call("python", "Iterator::Root::Zip[0]::Interleave[11]::TFRecord", 5, 3, 20, 10);
  in.call("python", "Iterator::Root::Zip[1]::Range", 6, 2, 50, 10);
  in.call("python", "Iterator::Root::Zip[1]::Range", 6, 2, 70, 10);
  const Trace trace = in.finish();
  const InputPipeline& pipeline = InputPipelines::of(trace)->pipelines.at(0);
  std::vector<std::string> names;
  for (const InputStage& stage : pipeline.stages) names.push_back(stage.long_name);
  EXPECT_EQ(names,
            (std::vector<std::string>{
                "Iterator::Root", "Iterator::Root::Zip", "Iterator::Root::Zip[0]::Interleave",
                "Iterator::Root::Zip[0]::Interleave::TFRecord", "Iterator::Root::Zip[1]::Range"}));
  EXPECT_EQ(stage_named(pipeline, "TFRecord").calls, 2u);
  EXPECT_DOUBLE_EQ(stage_named(pipeline, "TFRecord").calls_per_batch, 2);
}

TEST(InputPipelines, DevicePipelineLeadsToTheHostsWhichFeedsIt) {
  HandMadeInput in;
  for (int i = 0; i < 6; ++i) {
    const int64_t at = 100 * i;
    in.step(at, 100);
    in.call("get_next", "Iterator::Root", 1, 0, at, 90);
    in.call("get_next", "Iterator::Root::Prefetch", 2, 1, at + 1, 88);
    in.consume("get_next", "Prefetch", 10 + i, at + 88);
    in.produce("resource", "Prefetch", 10 + i, at, 88);
    in.call("resource", "Iterator::Root::Prefetch::Generator", 3, 2, at, 87);
    in.call("multi", "Iterator::Root", 11, 0, at + 2, 80);
    in.call("multi", "Iterator::Root::Map", 12, 11, at + 3, 78);
    in.call("multi", "Iterator::Root::Map::Range", 13, 12, at + 4, 2);
  }
  const Trace trace = in.finish();
  const auto input = InputPipelines::of(trace);
  ASSERT_EQ(input->pipelines.size(), 2u);
  EXPECT_TRUE(input->asked()->is_device);
  EXPECT_FALSE(input->working()->is_device);
  EXPECT_EQ(input->working()->feeds, 0u);
  EXPECT_EQ(bottleneck_of(*input->working()), "Map");
  EXPECT_NEAR(input->waits.share(), 0.9, 1e-9);
}

TEST(InputPipelines, FewSlowRequestsAmongManyDoNotMakeItInputBound) {
  HandMadeInput in;
  for (int i = 0; i < 40; ++i) {
    in.step(5000 * i, 5000);
    in.call("main", "Iterator::Root", 1, 0, 5000 * i, i % 39 == 0 ? 4000 : 35);
  }
  const Trace trace = in.finish();
  const auto input = InputPipelines::of(trace);
  EXPECT_EQ(input->pipelines.at(0).requests.median_ns, 35 * kUs);
  EXPECT_EQ(input->pipelines.at(0).requests.max_ns, 4000 * kUs);
  EXPECT_FALSE(input->is_input_bound());
}

TEST(InputPipelines, LongRequestsOfLongStepsAreReadyEnough) {
  HandMadeInput in;
  for (int i = 0; i < 10; ++i) {
    in.step(10'000 * i, 10'000);
    in.call("main", "Iterator::Root", 1, 0, 10'000 * i, 400);
  }
  const Trace trace = in.finish();
  EXPECT_FALSE(InputPipelines::of(trace)->is_input_bound());
}

TEST(InputPipelines, EpochsAreOnePipeline) {
  HandMadeInput in;
  for (int i = 0; i < 4; ++i) {
    in.call("main", "Iterator::Root", 100 + i, 0, 100 * i, 50);
    if (i > 0) in.call("main", "Iterator::Root::Range", 200 + i, 100 + i, 100 * i + 1, 5);
  }
  const Trace trace = in.finish();
  const auto input = InputPipelines::of(trace);
  ASSERT_EQ(input->pipelines.size(), 1u);
  EXPECT_EQ(input->pipelines[0].requests.count, 4u);
}

TEST(InputPipelines, CallsThatHoldEachOtherAreNoPipeline) {
  HandMadeInput in;
  in.call("a", "Iterator::Root::Prefetch", 1, 2, 0, 100);
  in.consume("a", "Prefetch", 5, 50);
  in.produce("b", "Prefetch", 5, 0, 100);
  in.call("b", "Iterator::Root::Prefetch::Map", 2, 1, 1, 90);
  in.consume("b", "Prefetch", 6, 50);
  const Trace trace = in.finish();
  EXPECT_TRUE(InputPipelines::of(trace)->pipelines.empty());
}

TEST(InputPipelines, TraceWithoutIteratorsHasNone) {
  HandMadeInput in;
  in.step(0, 10);
  const Trace trace = in.finish();
  EXPECT_TRUE(InputPipelines::of(trace)->pipelines.empty());
  const auto table = make_view(trace, "input", {});
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->rows(), 0u);
  EXPECT_EQ(table->notes.size(), 1u);
}

TEST(InputView, HasARowForEachStageAndMarksTheBottleneck) {
  HandMadeInput in;
  add_sequential_steps(in, 4);
  const auto table = make_view(in.finish(), "input", {});
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows(), 4u);
  EXPECT_EQ(table->find("pipeline")->get_string(0), "host 0");
  EXPECT_EQ(table->find("name")->get_string(2), "Map");
  EXPECT_EQ(table->find("depth")->get_int(2), 2);
  EXPECT_EQ(table->find("is_bottleneck")->get_int(2), 1);
  EXPECT_EQ(table->find("is_bottleneck")->get_int(1), 0);
  EXPECT_EQ(table->find("parameters")->get_string(1), "batch_size=2");
  EXPECT_EQ(table->find("mean_ns")->get_int(2), 35 * kUs);
}

}  // namespace
}  // namespace stepscope
