#include "export/megengine_timeline.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "export/export.h"
#include "export/text_for_tests.h"
#include "trace/trace_builder.h"

namespace stepscope {
namespace {

class SmallTraining {
 public:
  SmallTraining() : thread_(builder_.add_thread(ForeignId{7}, ForeignId{7})) {}

  TraceBuilder& builder() { return builder_; }
  void add(std::string_view name, int64_t start_ns, int64_t dur_ns, SliceKind kind) {
    builder_.add_slice(thread_, start_ns, dur_ns, builder_.label(name, "", kind));
  }
  void allocate(int64_t time_ns, int64_t bytes) {
    TraceBuilder::Allocation allocation;
    allocation.time_ns = time_ns;
    allocation.address = 0x1000;
    allocation.bytes = bytes;
    builder_.add_allocation(thread_, allocation);
  }
  std::string write(std::string_view key = "", std::string_view value = "") {
    Trace trace = std::move(builder_).finish();
    if (!key.empty()) trace.set_metadata(key, value);
    const std::string path = ::testing::TempDir() + "megengine_timeline_test.json";
    EXPECT_TRUE(write_megengine_timeline(trace, path).ok());
    return take_text(path);
  }

 private:
  TraceBuilder builder_;
  TrackId thread_;
};

void add_step(SmallTraining& made) {
  made.add("nn.Module: layer.conv1 (Conv2d)", 0, 5'000, SliceKind::kAnnotation);
  made.add("aten::conv2d", 1'000, 3'000, SliceKind::kOperator);
  made.add("aten::mkldnn_convolution", 1'500, 2'000, SliceKind::kOperator);
  made.add("aten::empty", 1'600, 200, SliceKind::kOperator);
  made.add("Optimizer.zero_grad#SGD.zero_grad", 6'000, 500, SliceKind::kAnnotation);
  made.add("Optimizer.step#SGD.step", 7'000, 1'000, SliceKind::kAnnotation);
}

TEST(MegEngineTimeline, ScopesOperatorsAndKernelsHaveThreadsOfTheirOwn) {
  SmallTraining made;
  add_step(made);
  const std::string text = made.write();
  for (const char* thread : {"\"interpreter\"", "\"worker\"", "\"cpu0:0\""}) {
    EXPECT_EQ(count_of(text, std::string("\"args\":{\"name\":") + thread), 1u) << text;
  }
  const auto has = [&](const char* event) { return text.find(event) != text.npos; };
  EXPECT_TRUE(has(R"({"ph":"X","name":"conv1","pid":7,"tid":1,"ts":0,"dur":5})")) << text;
  EXPECT_TRUE(has(R"("name":"clear_grad","pid":7,"tid":1)"));
  EXPECT_TRUE(has(R"("name":"step","pid":7,"tid":1)"));
  EXPECT_TRUE(has(R"("name":"aten::conv2d","pid":7,"tid":0,"ts":1,"dur":3)"));
  EXPECT_TRUE(has(R"("name":"aten::mkldnn_convolution","cat":"Kernel","pid":7,"tid":2,"ts":1.5)"));
  EXPECT_FALSE(has(R"("name":"aten::conv2d","cat":"Kernel")"));  // it only calls another
  EXPECT_FALSE(has(R"("name":"aten::empty","cat":"Kernel")"));   // part of that
  EXPECT_EQ(count_of(text, R"("name":"OpDispatch","pid":7,"tid":1)"), 1u);
  EXPECT_TRUE(has(R"("name":"gpu_usage_ratio")"));
}

TEST(MegEngineTimeline, WithoutTheDeviceThereIsNothingOfIt) {
  SmallTraining made;
  add_step(made);
  const std::string text = made.write(kMegEngineNoDevice, "1");
  EXPECT_EQ(text.find("Kernel"), text.npos);
  EXPECT_EQ(text.find("cpu0:0\""), text.npos);
  EXPECT_EQ(text.find("gpu_usage_ratio"), text.npos);
}

TEST(MegEngineTimeline, MemoryHasAsManyPointsAsWereAskedFor) {
  const auto points = [](std::string_view rate) {
    SmallTraining made;
    add_step(made);
    for (int64_t i = 0; i < 100; ++i) made.allocate(1'000 + i, i % 2 == 0 ? 64 : -64);
    return count_of(made.write(kMegEngineSampleRate, rate), "cpu0:0_alloc_mem");
  };
  EXPECT_EQ(points("0"), 2u);
  EXPECT_EQ(points("10"), 11u);
  EXPECT_EQ(points("1"), 101u);
}

TEST(MegEngineTimeline, ALocalTimeWithAllItsDigitsIsSaid) {
  SmallTraining made;
  add_step(made);
  EXPECT_NE(made.write().find("\"metadata\": {\"localTime\": \""), std::string::npos);
  EXPECT_EQ(find_export_format_of_path("12.chrome_timeline.json")->name, "megengine");
  EXPECT_EQ(find_export_suffix("megengine"), ".chrome_timeline.json");
  EXPECT_EQ(find_export_suffix("speedscope"), ".speedscope.json");
  EXPECT_EQ(find_export_suffix("memory_flow.svg"), ".memory_flow.svg");
  EXPECT_EQ(find_export_suffix("colours"), "");
}

}  // namespace
}  // namespace stepscope
