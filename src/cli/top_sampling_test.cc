#include "cli/top_sampling.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

namespace stepscope::cli {
namespace {

class Told : public sample::SampleSink {
 public:
  std::string text;

  void add_process(uint32_t process, pid_t, const std::string&) override { add("p", process); }
  void add_thread(uint32_t thread, uint32_t, int32_t, const sample::ThreadName& name) override {
    add("t" + name.text, thread);
  }
  void add_function(uint32_t function, std::string_view, std::string_view, int32_t) override {
    add("f", function);
  }
  void add_stack(uint32_t stack, uint32_t, uint32_t, int32_t) override { add("k", stack); }
  void add_sample(const sample::Sample& sample) override { add("s", sample.stack); }
  void end_process(uint32_t process) override { add("e", process); }

 private:
  void add(const std::string& what, uint32_t number) {
    text += what + std::to_string(number) + " ";
  }
};

TEST(TopBatch, TellsWhatIsNamedBeforeTheSamplesThatNameIt) {
  TopBatch batch;
  batch.samples.push_back({.stack = 5});
  batch.stacks.push_back({5, sample::kNoParent, 4, 1});
  batch.functions.push_back({4, "work", "work.py", 1});
  batch.threads.push_back({3, 2, 4711, {"main"}});
  batch.processes.push_back({2, 4711, "python"});
  batch.ended_processes.push_back(2);
  Told told;
  batch.tell(told);
  EXPECT_EQ(told.text, "p2 tmain3 f4 k5 s5 e2 ");
}

TEST(TopBatch, ALaterOneComesBehindAndItsEndIsTheEnd) {
  TopBatch batch, later;
  batch.threads.push_back({0, 0, 1, {"before"}});
  batch.samples.push_back({.stack = 1});
  batch.end.end_ns = 10;
  batch.end.new_threads = {{0, 100}};
  later.threads.push_back({0, 0, 1, {"after"}});
  later.samples.push_back({.stack = 2});
  later.end.end_ns = 20;
  later.end.new_threads = {{1, 200}};
  later.left_out = 7;
  batch.append(std::move(later));
  Told told;
  batch.tell(told);
  EXPECT_EQ(told.text, "tbefore0 tafter0 s1 s2 ");
  EXPECT_EQ(batch.end.end_ns, 20);
  ASSERT_EQ(batch.end.new_threads.size(), 2u);
  EXPECT_EQ(batch.end.new_threads[0].cpu_ns, 100u);
  EXPECT_EQ(batch.left_out, 7u);
}

TEST(TopSampling, SaysOfEachProcessWhyItCanNotBeSampledAndEnds) {
  TopSampling sampling({}, 0);
  const std::vector<Status> added = sampling.start({::getpid(), 99'999'999});
  ASSERT_EQ(added.size(), 2u);
  EXPECT_FALSE(added[0]);  // no Python
  EXPECT_FALSE(added[1]);
  sampling.stop();
  EXPECT_TRUE(sampling.has_ended());
}

}  // namespace
}  // namespace stepscope::cli
