#include "serve/api.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "serve/ranks_for_tests.h"
#include "trace/trace_for_tests.h"

namespace stepscope::serve {
namespace {

std::unique_ptr<Runs> make_runs() {
  std::vector<RunInfo> infos(3);
  infos[0] = {.path = "a", .name = "a", .version = 1};
  infos[0].trace = std::make_shared<const Trace>(make_full_trace(200, 1));
  infos[1] = {.path = "b", .name = "b", .error = "b: no such file"};
  infos[2] = {.path = "c", .name = "c", .version = 1};
  infos[2].trace = std::make_shared<const Trace>(std::move(TraceBuilder()).finish());
  return Runs::of(std::move(infos));
}

ApiRequest request(std::string path, ApiParameters parameters = {}) {
  ApiRequest made;
  made.path = std::move(path);
  made.parameters = std::move(parameters);
  return made;
}

TEST(Api, AnswersEveryRequestOfAnEmptyTrace) {
  const auto runs = make_runs();
  Api api(*runs);
  for (const char* path : {"tracks", "flame", "memory-flow", "search"}) {
    EXPECT_EQ(api.answer(request(path, {{"run", "2"}})).status, kStatusFine) << path;
  }
  for (const char* view : {"overview", "operators", "tree", "findings", "memory"}) {
    EXPECT_EQ(api.answer(request("table", {{"run", "2"}, {"view", view}})).status, kStatusFine)
        << view;
  }
  EXPECT_EQ(api.answer(request("tiles", {{"run", "2"}, {"want", "0.0"}})).status, kStatusNotFound);
  EXPECT_EQ(api.answer(request("diff", {{"a", "0"}, {"b", "2"}})).status, kStatusFine);
}

TEST(Api, RunThatDidNotOpenSaysWhy) {
  const auto runs = make_runs();
  Api api(*runs);
  const ApiAnswer answer = api.answer(request("tracks", {{"run", "1"}}));
  EXPECT_EQ(answer.status, kStatusNotFound);
  EXPECT_EQ(answer.body, "{\"error\": \"b: no such file\"}\n");
}

TEST(Api, TilesComeFromTheCacheTheSecondTime) {
  const auto runs = make_runs();
  Api api(*runs);
  const ApiRequest wanted = request("tiles", {{"level", "1"}, {"want", "0.0,0.1,1.0"}});
  const ApiAnswer first = api.answer(wanted);
  ASSERT_EQ(first.status, kStatusFine);
  EXPECT_EQ(first.type, kBytesType);
  EXPECT_EQ(api.answer(wanted).body, first.body);
}

TEST(Api, SqlStopsWhenNoOneWaits) {
  const auto runs = make_runs();
  Api api(*runs);
  ApiRequest asked = request("sql");
  asked.has_body = true;
  asked.body =
      "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n";
  int questions = 0;
  asked.should_stop = [&] { return ++questions > 3; };
  EXPECT_EQ(api.answer(asked).status, kStatusBadRequest);
  EXPECT_EQ(questions, 4);
}

TEST(Api, RanksAreThoseOfAllRuns) {
  const auto runs = Runs::of({make_rank_run(0, 0), make_rank_run(1, 0), make_rank_run(2, 600'000)});
  Api api(*runs);
  const ApiAnswer ranks = api.answer(request("job", {{"view", "ranks"}}));
  ASSERT_EQ(ranks.status, kStatusFine) << ranks.body;
  EXPECT_NE(ranks.body.find("\"3 ranks; "), std::string::npos);
  EXPECT_NE(ranks.body.find("Rank 2 is slower by 600"), std::string::npos) << ranks.body;
  const ApiAnswer findings = api.answer(request("job", {{"view", "findings"}}));
  EXPECT_NE(findings.body.find("\"id\": \"straggler-rank\""), std::string::npos);
  const ApiAnswer one = api.answer(request("job", {{"view", "ranks"}, {"limit", "1"}}));
  EXPECT_NE(one.body.find("\"rows_total\": 3"), std::string::npos);
  const ApiAnswer collectives =
      api.answer(request("job", {{"view", "collectives"}, {"by", "rank"}, {"sort", "-wait_ns"}}));
  EXPECT_NE(collectives.body.find("all_reduce"), std::string::npos);
}

TEST(Api, WrongQuestionsAboutAJobAreRefused) {
  const auto runs = Runs::of({make_rank_run(0, 0)});
  Api api(*runs);
  EXPECT_EQ(api.answer(request("job", {{"view", "kernels"}})).status, kStatusNotFound);
  EXPECT_EQ(api.answer(request("job", {{"view", "ranks"}, {"run", "1"}})).status, kStatusNotFound);
  for (const auto& [name, value] :
       ApiParameters{{"by", "shape"}, {"sort", "x"}, {"run", "-1"}, {"waiting", "maybe"}}) {
    EXPECT_EQ(api.answer(request("job", {{"view", "ranks"}, {name, value}})).status,
              kStatusBadRequest)
        << name;
  }
}

TEST(Api, ServerWithoutSqlSaysSo) {
  const auto runs = make_runs();
  Api api(*runs, {.can_sql = false});
  EXPECT_NE(api.answer(request("runs")).body.find("\"sql\": false"), std::string::npos);
  ApiRequest asked = request("sql");
  asked.has_body = true;
  asked.body = "SELECT 1";
  EXPECT_EQ(api.answer(asked).status, kStatusNotFound);
}

TEST(Api, ManyThreadsGetTheSameAnswers) {
  const auto runs = make_runs();
  Api api(*runs, {.tile_cache_bytes = 20'000});
  const std::vector<ApiRequest> asked = {request("tiles", {{"want", "0.0,1.0,2.0,3.0"}}),
                                         request("table", {{"view", "tree"}}), request("flame"),
                                         request("tracks"), request("search", {{"q", "op"}})};
  std::vector<std::string> expected;
  for (const ApiRequest& one : asked) expected.push_back(api.answer(one).body);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        for (size_t k = 0; k < asked.size(); ++k) {
          EXPECT_EQ(api.answer(asked[k]).body, expected[k]);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace stepscope::serve
