#include "serve/html_export.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "serve/base64.h"
#include "serve/page.h"
#include "trace/trace_builder.h"
#include "trace/trace_for_tests.h"

namespace stepscope::serve {
namespace {

namespace fs = std::filesystem;

class HtmlExportTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const PageFile& file : page_files()) {
      if (file.name == "app.js" && file.text.empty()) GTEST_SKIP() << "the page was not built";
      page_bytes_ += file.text.size();
    }
    folder_ = fs::temp_directory_path() /
              ("html_export_" + std::to_string(testing::UnitTest::GetInstance()->random_seed()) +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  static RunInfo run_of(Trace trace) {
    RunInfo info{.path = "a", .name = "a", .version = 1};
    info.trace = std::make_shared<const Trace>(std::move(trace));
    return info;
  }

  // Every name is another one, so that little of it packs well.
  static Trace make_crowded_trace(int slices) {
    TraceBuilder builder;
    const TrackId track = builder.add_thread({1}, {1});
    std::mt19937_64 random(7);
    for (int i = 0; i < slices; ++i) {
      const LabelId label = builder.label(std::to_string(random()), "", SliceKind::kOperator);
      builder.add_slice(track, int64_t{i} * 1000, 900, label);
    }
    return std::move(builder).finish();
  }

  std::string target() const { return (folder_ / "out.html").string(); }
  uint64_t page_bytes_ = 0;
  fs::path folder_;
};

TEST_F(HtmlExportTest, IsNeverLargerThanItMayBe) {
  for (const uint64_t room : {40'000, 60'000, 100'000, 300'000, 8'000'000}) {
    const uint64_t max_bytes = page_bytes_ + room;
    const auto left_out = export_html({run_of(make_crowded_trace(8'000))}, target(),
                                      {.max_bytes = max_bytes, .progress = {}});
    ASSERT_TRUE(left_out) << left_out.status().message();
    EXPECT_LE(fs::file_size(target()), max_bytes);
    EXPECT_EQ(left_out->empty(), room == 8'000'000) << room;
  }
}

TEST_F(HtmlExportTest, LeavesNoFileWhereThePageDoesNotFit) {
  const auto left_out = export_html({run_of(make_full_trace(20))}, target(),
                                    {.max_bytes = page_bytes_, .progress = {}});
  EXPECT_FALSE(left_out);
  EXPECT_FALSE(fs::exists(target()));
}

TEST_F(HtmlExportTest, TracesOfEveryKindAreWhole) {
  std::vector<RunInfo> runs;
  runs.push_back(run_of(make_full_trace(200, 3)));
  runs.push_back(run_of(std::move(TraceBuilder()).finish()));
  runs.push_back({.path = "b", .name = "b", .error = "b: no such file"});
  double last = 0;
  const auto left_out = export_html(std::move(runs), target(), {.progress = [&](double fraction) {
                                      EXPECT_GE(fraction, last - 1e-9);
                                      EXPECT_LE(fraction, 1);
                                      last = fraction;
                                    }});
  ASSERT_TRUE(left_out) << left_out.status().message();
  EXPECT_TRUE(left_out->empty()) << left_out->front();
  std::ifstream in(target());
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_TRUE(text.ends_with("</html>\n"));
  EXPECT_NE(text.find("stepscope-index"), std::string::npos);
}

TEST(Base64, AgreesWithTheStandard) {
  EXPECT_EQ(to_base64(std::string_view("")), "");
  EXPECT_EQ(to_base64(std::string_view("f")), "Zg==");
  EXPECT_EQ(to_base64(std::string_view("fo")), "Zm8=");
  EXPECT_EQ(to_base64(std::string_view("foobar")), "Zm9vYmFy");
  EXPECT_EQ(to_base64(std::string_view("\xff\xef\xfe")), "/+/+");
}

}  // namespace
}  // namespace stepscope::serve
