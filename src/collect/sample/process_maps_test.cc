#include "collect/sample/process_maps.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <random>
#include <string>

namespace stepscope::sample {
namespace {

TEST(ProcessMaps, LinesHaveRangeRightsOffsetAndPath) {
  const auto mappings = parse_process_maps(
      "7f1c000-7f2e000 r-xp 00002000 fe:00 1234   /usr/lib/lib python3.11.so.1.0\n"
      "7f2e000-7f30000 rw-p 00000000 00:00 0 \n"
      "7ffc000-7ffe000 rw-p 00000000 00:00 0      [stack]\n"
      "8000000-8001000 r--p 00000000 fe:00 99     /opt/old.so (deleted)\n");
  ASSERT_EQ(mappings.size(), 4u);
  EXPECT_EQ(mappings[0].begin, 0x7f1c000u);
  EXPECT_EQ(mappings[0].end, 0x7f2e000u);
  EXPECT_EQ(mappings[0].file_offset, 0x2000u);
  EXPECT_TRUE(mappings[0].is_executable);
  EXPECT_FALSE(mappings[0].is_writable);
  EXPECT_EQ(mappings[0].path, "/usr/lib/lib python3.11.so.1.0");
  EXPECT_TRUE(mappings[1].path.empty());
  EXPECT_TRUE(mappings[1].is_writable);
  EXPECT_FALSE(mappings[1].is_file());
  EXPECT_EQ(mappings[2].path, "[stack]");
  EXPECT_FALSE(mappings[2].is_file());
  EXPECT_EQ(mappings[3].path, "/opt/old.so");
}

TEST(ProcessMaps, LinesThatAreDamagedAreLeftOut) {
  for (const char* line :
       {"", "x", "-", "12", "12-", "12-34", "12-34 r", "34-12 r-xp 0 fe:00 1 /a",
        "12-12 r-xp 0 a b", "g0-h0 r-xp 0 fe:00 1 /a", "12-34 r-xp zz fe:00 1 /a", "12-34 r-xp",
        "fffffffffffffffff-34 r-xp 0 fe:00 1 /a"}) {
    EXPECT_TRUE(parse_process_maps(line).empty()) << line;
  }
  EXPECT_EQ(parse_process_maps("broken\n1000-2000 r-xp 0 fe:00 1 /a\nbroken").size(), 1u);
}

TEST(ProcessMaps, AnyBytesDoNoHarm) {
  const std::string good = "7f1c000-7f2e000 r-xp 00002000 fe:00 1234   /usr/lib/a (deleted)\n";
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string text = good + good;
    for (int k = 0; k < 4; ++k) text[random() % text.size()] = static_cast<char>(random());
    for (const Mapping& mapping : parse_process_maps(text)) EXPECT_LT(mapping.begin, mapping.end);
  }
}

TEST(ProcessMaps, AnAddressIsInTheMappingThatHoldsIt) {
  const auto mappings = parse_process_maps(
      "1000-2000 r-xp 0 fe:00 1 /a\n2000-3000 r-xp 0 fe:00 1 /b\n5000-6000 r-xp 0 fe:00 1 /c\n");
  EXPECT_EQ(find_mapping(mappings, 0xfff), nullptr);
  EXPECT_EQ(find_mapping(mappings, 0x1000)->path, "/a");
  EXPECT_EQ(find_mapping(mappings, 0x2000)->path, "/b");
  EXPECT_EQ(find_mapping(mappings, 0x3000), nullptr);
  EXPECT_EQ(find_mapping(mappings, 0x5fff)->path, "/c");
  EXPECT_EQ(find_mapping(mappings, UINT64_MAX), nullptr);
  EXPECT_EQ(find_mapping({}, 0), nullptr);
}

TEST(ProcessMaps, OfThisProcessItsOwnCodeIsFound) {
  const auto mappings = read_process_maps(::getpid());
  const auto address = reinterpret_cast<uint64_t>(&read_process_maps);
  const Mapping* mapping = find_mapping(mappings, address);
  ASSERT_NE(mapping, nullptr);
  EXPECT_TRUE(mapping->is_executable);
  EXPECT_TRUE(read_process_maps(0).empty());
}

}  // namespace
}  // namespace stepscope::sample
