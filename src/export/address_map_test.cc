#include "export/address_map.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(AddressMap, CutsOutWhatNobodyUses) {
  const AddressMap map({{0x7f00'0000'0000, 4096}, {0x1000, 64}, {0x1040, 64}});
  ASSERT_EQ(map.regions().size(), 2u);
  EXPECT_EQ(map.total_bytes(), 128u + 4096);
  EXPECT_EQ(map.place(0x1040).offset, 64u);
  EXPECT_EQ(map.place(0x7f00'0000'0010).offset, 128u + 16);
  EXPECT_EQ(map.place(0x7f00'0000'0010).region, 1u);
}

TEST(AddressMap, SmallGapsStayAndShowThatThereIsSomethingBetween) {
  const AddressMap map({{1000, 10}, {1200, 10}});
  EXPECT_EQ(map.regions().size(), 1u);
  EXPECT_EQ(map.total_bytes(), 210u);
}

TEST(AddressMap, RegionsAreFewHoweverScatteredTheAddressesAre) {
  std::vector<AddressMap::Range> ranges;
  for (uint64_t i = 0; i < 10'000; ++i) ranges.emplace_back(i * 100'000, 8);
  EXPECT_LE(AddressMap(ranges).regions().size(), AddressMap::kMaxRegions);
}

TEST(AddressMap, AddressesAtTheEndOfAllAddressesDoNoHarm) {
  const AddressMap map({{UINT64_MAX - 1, 100}, {0, UINT64_MAX}, {5, 0}});
  EXPECT_EQ(map.regions().size(), 1u);
  EXPECT_EQ(map.place(UINT64_MAX).region, 0u);
  EXPECT_EQ(AddressMap({}).place(7).offset, 0u);
}

}  // namespace
}  // namespace stepscope
