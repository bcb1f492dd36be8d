#include "export/memory_flow.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "export/export.h"
#include "export/text_for_tests.h"
#include "trace/trace_builder.h"

namespace stepscope {
namespace {

class SmallMemory {
 public:
  SmallMemory() : thread_(builder_.add_thread(ForeignId{1}, ForeignId{2})) {}

  void call(std::string_view name, int64_t start_ns, int64_t dur_ns) {
    builder_.add_slice(thread_, start_ns, dur_ns,
                       builder_.label(name, "cpu_op", SliceKind::kOperator));
  }
  void change(int64_t time_ns, uint64_t address, int64_t bytes) {
    TraceBuilder::Allocation allocation;
    allocation.time_ns = time_ns;
    allocation.address = address;
    allocation.bytes = bytes;
    builder_.add_allocation(thread_, allocation);
  }
  Trace build() { return std::move(builder_).finish(); }

 private:
  TraceBuilder builder_;
  TrackId thread_;
};

std::string picture_of(const Trace& trace, std::vector<std::string>* left_out = nullptr) {
  const std::string path = ::testing::TempDir() + "memory_flow_test.svg";
  const auto written = write_memory_flow(trace, path);
  EXPECT_TRUE(written.ok()) << written.status().message();
  if (written.ok() && left_out != nullptr) *left_out = *written;
  return take_text(path);
}

TEST(MemoryFlow, HasABoxForEachPieceOfMemoryWithItsNameSizeAndLife) {
  SmallMemory made;
  made.call("aten::empty<int>", 0, 1'000);
  made.change(100, 0x7f00'0000'0000, 4096);
  made.change(3'000'100, 0x7f00'0000'0000, -4096);
  made.change(500, 0x1000, 2048);
  made.call("later", 9'000'000, 1'000'000);
  const std::string text = picture_of(made.build());
  EXPECT_EQ(count_of(text, "aten::empty&lt;int&gt;&#10;"), 2u);
  EXPECT_NE(text.find("&#10;4 KiB at 7f0000000000&#10;100 ns + 3 ms"), text.npos) << text;
  EXPECT_NE(text.find("&#10;2 KiB at 1000&#10;500 ns, kept"), text.npos) << text;
  EXPECT_NE(text.find("peak 6 KiB at 500 ns"), text.npos) << text;
  EXPECT_EQ(count_of(text, "class=\"map\""), 2u);  // far apart
}

TEST(MemoryFlow, OfVeryManyPiecesTheLargestAreShown) {
  SmallMemory made;
  made.call("step", 0, 40'000'000);
  for (uint64_t i = 0; i < 20'000; ++i) {
    made.change(static_cast<int64_t>(i) * 1'000, 0x1000 + i * 64, 64);
    made.change(static_cast<int64_t>(i) * 1'000 + 500, 0x1000 + i * 64, -64);
  }
  std::vector<std::string> left_out;
  const std::string text = picture_of(made.build(), &left_out);
  EXPECT_EQ(count_of(text, "&#10;64 B at "), 10'000u);
  EXPECT_LT(text.size(), 2u << 20);
  ASSERT_EQ(left_out.size(), 1u);
  EXPECT_TRUE(left_out[0].starts_with("10000 pieces of memory")) << left_out[0];
}

TEST(MemoryFlow, WithoutAllocationsItSaysHowToRecordThem) {
  SmallMemory made;
  made.call("step", 0, 1'000);
  const auto written = write_memory_flow(made.build(), ::testing::TempDir() + "none.svg");
  ASSERT_FALSE(written.ok());
  EXPECT_NE(written.status().message().find("profile_memory=True"), std::string::npos);
}

TEST(MemoryFlow, IsFoundByTheNameOfItsFile) {
  EXPECT_EQ(find_export_format_of_path("4321.memory_flow.svg")->name, "memory-flow");
  EXPECT_EQ(find_export_format("memory_flow.svg")->name, "memory-flow");
}

}  // namespace
}  // namespace stepscope
