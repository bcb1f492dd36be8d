// The rules about tf.data pipelines: which of them fires on which pipeline.
#include <gtest/gtest.h>

#include "advise/input_answers.h"
#include "advise/rule_for_tests.h"
#include "analyze/hand_made_input.h"

namespace stepscope::tf_data_rules_test {
namespace {

constexpr int kSteps = 12;

// What a batch costs, in us: reading, the function, putting together; and how a step goes on.
struct Pipeline {
  int64_t read = 2, function = 2, batch = 2, compute = 50;
  bool has_prefetch = false;
  std::string_view map = "Map";  // or "ParallelMapV2"
  std::string_view source = "TFRecord";
  int64_t cores = 4, parallelism = 0, intra_op = 1;
};

Trace make(const Pipeline& p) {
  HandMadeInput in;
  const int64_t make_us = p.read + p.function + p.batch + 4;
  const int64_t wait = p.has_prefetch ? std::max<int64_t>(make_us - p.compute, 1) : make_us;
  const int64_t step = wait + p.compute;
  const std::string root = "Iterator::Root";
  const std::string above = p.has_prefetch ? root + "::Prefetch" : root;
  for (int i = 0; i < kSteps; ++i) {
    const int64_t at = 1000 + step * i;
    const std::string worker = p.has_prefetch ? "worker" : "main";
    const int64_t begin = p.has_prefetch ? at + wait - make_us : at + 1;
    in.step(at, step);
    const SliceRef asked = in.call("main", root, 1, 0, at, wait);
    in.set(asked, "cpu_budget", p.cores);
    in.set(asked, "intra_op_parallelism", p.intra_op);
    if (p.has_prefetch) {
      in.set(in.call("main", above, 2, 1, at, wait), "buffer_limit", int64_t{2});
      in.consume("main", "Prefetch", 10 + i, at + wait - 1);
      in.produce(worker, "Prefetch", 10 + i, begin, make_us - 1);
    }
    const int64_t parent = p.has_prefetch ? 2 : 1;
    in.set(in.call(worker, above + "::BatchV2", 3, parent, begin, make_us - 2), "batch_size",
           int64_t{1});
    const std::string map = above + "::BatchV2::" + std::string(p.map);
    const SliceRef mapped = in.call(worker, map, 4, 3, begin + 1, p.read + p.function + 1);
    if (p.parallelism > 0) in.set(mapped, "parallelism", p.parallelism);
    const bool is_parallel = p.map != "Map";
    if (is_parallel) {
      in.consume(worker, "ParallelMap", 500 + i, begin + 1 + p.read + p.function);
      in.produce("runner", "ParallelMap", 500 + i, begin + 1, p.read + 1);
    }
    in.call(is_parallel ? "runner" : worker, map + "::" + std::string(p.source), 5, 4, begin + 1,
            p.read);
    in.run(is_parallel ? "runner" : worker, is_parallel ? "RunAsync" : "Run", 900 + i,
           begin + 1 + p.read, is_parallel ? 1 : p.function);
    in.execute("pool", 900 + i, begin + 1 + p.read, p.function);
  }
  return in.finish();
}

constexpr std::array kTfDataRules = {check_tf_data_intra_op_parallelism, check_tf_data_prefetch,
                                     check_tf_data_slow_transformation, check_tf_data_slow_map,
                                     check_tf_data_slow_source};

std::vector<std::string> ids_of(const Trace& trace) {
  std::vector<std::string> ids;
  for (const Rule rule : kTfDataRules) {
    if (const auto finding = find(rule, trace)) ids.push_back(finding->id);
  }
  return ids;
}
using Ids = std::vector<std::string>;

TEST(TfData, SlowMapOnOneThreadWithoutPrefetch) {
  const Trace trace = make({.function = 200});
  EXPECT_EQ(ids_of(trace), (Ids{"tfdata-no-prefetch", "tfdata-slow-map"}));
  const auto map = find(check_tf_data_slow_map, trace);
  EXPECT_EQ(map->code, "ds = ds.map(f, num_parallel_calls=tf.data.AUTOTUNE)");
  // 258 us a step, of which 201 are the function: on four cores it works ahead in 50 us, as long as
  // the step computes.
  EXPECT_NEAR(map->at_stake_fraction, 1 - 56.0 / 258, 0.03);
  // Computing at the same time as making the batch saves the computing.
  const auto prefetch = find(check_tf_data_prefetch, trace);
  EXPECT_NEAR(prefetch->at_stake_fraction, 50.0 / 258, 0.03);
}

TEST(TfData, SlowMapBehindAPrefetch) {
  EXPECT_EQ(ids_of(make({.function = 200, .has_prefetch = true})), Ids{"tfdata-slow-map"});
}

TEST(TfData, SlowParallelMapWithFewerThreadsThanCores) {
  const Trace trace = make({.function = 200,
                            .has_prefetch = true,
                            .map = "ParallelMapV2",
                            .cores = 4,
                            .parallelism = 1});
  EXPECT_EQ(ids_of(trace), Ids{"tfdata-slow-parallel-map"});
  EXPECT_NE(find(check_tf_data_slow_map, trace)->fix.find("4 cores"), std::string::npos);
}

TEST(TfData, SlowParallelMapOnAllCoresIsToBeCheaper) {
  const Trace trace = make({.function = 900,
                            .has_prefetch = true,
                            .map = "ParallelMapV2",
                            .cores = 1,
                            .parallelism = 1});
  const auto finding = find(check_tf_data_slow_map, trace);
  ASSERT_TRUE(finding);
  EXPECT_NE(finding->fix.find("cache()"), std::string::npos);
  EXPECT_GT(finding->at_stake_fraction, 0.8);
}

// A map that has all cores already, below one other stage.
Trace make_slow_map_below(const std::string& stage) {
  HandMadeInput in;
  const std::string above = "Iterator::Root::" + stage, map = above + "::ParallelMapV2";
  for (int i = 0; i < kSteps; ++i) {
    const int64_t at = 1000 * (i + 1);
    in.step(at, 1000);
    in.set(in.call("main", "Iterator::Root", 1, 0, at, 900), "cpu_budget", int64_t{1});
    in.call("main", above, 2, 1, at + 1, 890);
    in.call("main", map, 3, 2, at + 2, 880);
    in.consume("main", "ParallelMap", 10 + i, at + 880);
    in.produce("runner", "ParallelMap", 10 + i, at + 2, 10);
    in.call("runner", map + "::Range", 4, 3, at + 2, 2);
    in.run("runner", "RunAsync", 100 + i, at + 5, 1);
    in.execute("pool", 100 + i, at + 6, 800);
  }
  return in.finish();
}

TEST(TfData, SlowMapBelowACacheIsOnlyNoted) {
  const auto finding = find(check_tf_data_slow_map, make_slow_map_below("MemoryCache"));
  ASSERT_TRUE(finding);
  EXPECT_TRUE(finding->is_note);
  EXPECT_EQ(finding->at_stake_fraction, 0);
}

TEST(TfData, CacheIsNotedWhereAnEpochIsMadeAnew) {
  const auto finding = find(check_tf_data_cache, make_slow_map_below("ForeverRepeat"));
  ASSERT_TRUE(finding);
  EXPECT_TRUE(finding->is_note);
  EXPECT_NE(finding->title.find("anew"), std::string::npos);
  EXPECT_FALSE(find(check_tf_data_cache, make_slow_map_below("FiniteTake")));
  EXPECT_FALSE(find(check_tf_data_cache, make_slow_map_below("MemoryCache")));
}

TEST(TfData, SlowFilesAndGenerators) {
  const Trace files = make({.read = 200, .has_prefetch = true});
  EXPECT_EQ(ids_of(files), Ids{"tfdata-slow-source"});
  EXPECT_NE(find(check_tf_data_slow_source, files)->code.find("TFRecordDataset"),
            std::string::npos);
  const Trace generator = make({.read = 200, .has_prefetch = true, .source = "Generator"});
  EXPECT_EQ(ids_of(generator), Ids{"tfdata-slow-source"});
  EXPECT_NE(find(check_tf_data_slow_source, generator)->fix.find("generator"), std::string::npos);
}

TEST(TfData, SlowBatch) {
  const Trace trace = make({.batch = 200, .has_prefetch = true});
  EXPECT_EQ(ids_of(trace), Ids{"tfdata-slow-transformation"});
  EXPECT_NE(
      find(check_tf_data_slow_transformation, trace)->code.find("batch(n, num_parallel_calls"),
      std::string::npos);
}

TEST(TfData, IntraOpThreadsOnlyWhereTheyAreManyAndCoresAreBusy) {
  Pipeline p{.function = 900,
             .has_prefetch = true,
             .map = "ParallelMapV2",
             .cores = 2,
             .parallelism = 2,
             .intra_op = 8};
  EXPECT_FALSE(find(check_tf_data_intra_op_parallelism, make(p)));  // one of two cores is busy
  p.cores = 1;
  EXPECT_FALSE(find(check_tf_data_intra_op_parallelism, make(p)));
}

TEST(TfData, NothingIsSaidOfAPipelineThatKeepsUp) {
  const Trace trace = make({.function = 20, .compute = 2000, .has_prefetch = true});
  EXPECT_EQ(ids_of(trace), Ids{});
  const auto answers = answer_input_questions(trace);
  ASSERT_EQ(answers.size(), 4u);
  EXPECT_NE(answers[0].find("Yes: a request takes 1 us"), std::string::npos) << answers[0];
  EXPECT_NE(answers[1].find("Yes, with room for 2 batches"), std::string::npos) << answers[1];
}

TEST(TfData, AnswersNameTheSlowStage) {
  const auto answers = answer_input_questions(make({.function = 200}));
  ASSERT_EQ(answers.size(), 4u);
  EXPECT_NE(answers[0].find("No: a request takes 208 us"), std::string::npos) << answers[0];
  EXPECT_NE(answers[1].find("No: a batch is begun when it is asked for"), std::string::npos);
  EXPECT_NE(answers[2].find("tf.data has 4 cores"), std::string::npos) << answers[2];
  EXPECT_NE(answers[3].find("What is slow? Map"), std::string::npos) << answers[3];
}

}  // namespace
}  // namespace stepscope::tf_data_rules_test
