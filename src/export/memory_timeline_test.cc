#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "export/memory_curve.h"
#include "export/memory_timeline_html.h"
#include "export/memory_timeline_json.h"
#include "trace/training_trace_for_tests.h"

namespace stepscope {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class MemoryTimelineFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "memory_timeline_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
};

void add_training(TrainingTrace& made) {
  made.op("aten::empty", 1'000, 2'000);
  made.take(2'000, 0xa, 100);
  made.op("aten::linear", 10'000, 4'000, 0);
  made.take(11'000, 0xb, 50);
  made.take(11'400, 0xc, 7);
  made.give_back(11'900, 0xc, 7);  // within the same us
  made.op("aten::relu", 15'000, 4'000, 2);
  made.backward_node("AddmmBackward0", 20'000, 4'000, 1);
  made.take(21'000, 0xd, 100);
  made.give_back(22'000, 0xb, 50);
  made.optimizer_step(30'000, 1'000);
}

TEST_F(MemoryTimelineFiles, JsonIsTorchsTimesAndSizesByCategory) {
  TrainingTrace made;
  add_training(made);
  made.builder().set_clock_base_ns(1'000'000);
  const auto left_out = write_memory_timeline_json(made.build(), path("m.json"));
  ASSERT_TRUE(left_out.ok());
  EXPECT_EQ(left_out->size(), 1u);
  EXPECT_EQ(read(path("m.json")),
            "[[1002, 1011, 1021, 1022], [[0, 100, 0, 0, 0, 0, 0, 0, 0], "
            "[0, 100, 0, 0, 0, 50, 0, 0, 0], [0, 100, 0, 0, 0, 50, 100, 0, 0], "
            "[0, 100, 0, 0, 0, 0, 100, 0, 0]]]");
}

TEST_F(MemoryTimelineFiles, JsonIsOfOneDeviceAndSaysWhatItLeavesOut) {
  TrainingTrace made;
  made.op("aten::mm", 0, 10'000);
  made.take(1'000, 0xa, 5);
  made.set_device(1, 0);
  made.take(2'000, 0xa, 6);
  const Trace trace = made.build();
  const auto left_out = write_memory_timeline_json(trace, path("m.json"));
  ASSERT_TRUE(left_out.ok());
  ASSERT_EQ(left_out->size(), 2u);
  EXPECT_EQ((*left_out)[1], "the memory of 1 other device: the file is of cuda:0 alone");
  EXPECT_EQ(read(path("m.json")), "[[2], [[0, 0, 0, 0, 0, 0, 0, 0, 6]]]");
  ASSERT_TRUE(write_memory_timeline_json(trace, path("cpu.json"), "cpu").ok());
  EXPECT_EQ(read(path("cpu.json")), "[[1], [[0, 0, 0, 0, 0, 0, 0, 0, 5]]]");
  const auto other = write_memory_timeline_json(trace, path("x.json"), "cuda:1");
  ASSERT_FALSE(other.ok());
  EXPECT_FALSE(std::filesystem::exists(path("x.json")));
}

TEST_F(MemoryTimelineFiles, NothingIsWrittenWithoutAllocations) {
  TrainingTrace made;
  made.op("aten::mm", 0, 10);
  const Trace trace = made.build();
  EXPECT_FALSE(write_memory_timeline_json(trace, path("m.json")).ok());
  EXPECT_FALSE(write_memory_timeline_html(trace, path("m.html")).ok());
  EXPECT_FALSE(std::filesystem::exists(path("m.html")));
}

TEST_F(MemoryTimelineFiles, PageMarksThePeakAndEscapesNames) {
  TrainingTrace made;
  add_training(made);
  made.builder().set_source("/somewhere/<b>&.json");
  ASSERT_TRUE(write_memory_timeline_html(made.build(), path("m.html")).ok());
  const std::string page = read(path("m.html"));
  EXPECT_NE(page.find("peak 250 B"), std::string::npos);
  EXPECT_NE(page.find("peak, at 20 us"), std::string::npos);
  EXPECT_NE(page.find("Memory of &lt;b&gt;&amp;.json"), std::string::npos);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
}

TEST_F(MemoryTimelineFiles, PageOfAMillionEventsAndManyDevicesIsSmall) {
  TrainingTrace made;
  for (int64_t i = 0; i < 500'000; ++i) {
    made.set_device(1, static_cast<int16_t>(i % 40));
    made.take(20 * i, static_cast<uint64_t>(i + 1), 1 + i % 1'000'003);
    made.give_back(20 * i + 10 + i % 7, static_cast<uint64_t>(i + 1), 1 + i % 1'000'003);
  }
  const auto left_out = write_memory_timeline_html(made.build(), path("m.html"));
  ASSERT_TRUE(left_out.ok());
  ASSERT_EQ(left_out->size(), 2u);
  EXPECT_EQ((*left_out)[1], "the memory of 24 devices with lower peaks");
  EXPECT_LT(std::filesystem::file_size(path("m.html")), 16u * 300'000);
}

TEST(MemoryCurve, KeepsTheLowestTheHighestAndTheLastOfEachColumn) {
  MemoryCurve curve(0, 1'000, 10);
  for (int64_t time_ns = 0; time_ns < 100; ++time_ns) {  // the first column
    MemoryAtMoment now;
    now.time_ns = time_ns;
    now.bytes[0] = time_ns == 40 ? 999 : time_ns == 70 ? 1 : 100;
    curve.add(now);
  }
  MemoryAtMoment later;
  later.time_ns = 1'000;
  curve.add(later);
  const std::vector<MemoryAtMoment> kept = std::move(curve).finish();
  ASSERT_EQ(kept.size(), 4u);
  EXPECT_EQ(kept[0].time_ns, 40);
  EXPECT_EQ(kept[1].time_ns, 70);
  EXPECT_EQ(kept[2].time_ns, 99);
  EXPECT_EQ(kept[3].time_ns, 1'000);
}

}  // namespace
}  // namespace stepscope
