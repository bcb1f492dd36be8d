#include "analyze/sample_cells.h"

#include <gtest/gtest.h>

#include <map>

namespace stepscope {
namespace {

// How long each look stands for.
std::map<uint32_t, int64_t> total_by_look(const std::vector<SampleCell>& cells) {
  std::map<uint32_t, int64_t> ns;
  for (const SampleCell& cell : cells) ns[cell.look] += cell.time.end_ns - cell.time.begin_ns;
  return ns;
}

TEST(SampleCells, OneRegionIsDividedHalfwayBetweenLooks) {
  const SampleRegion regions[] = {{{0, 100}, 1}};
  const SampleLook looks[] = {{20, 40}, {60, 40}};
  const auto cells = find_sample_cells(regions, looks);
  ASSERT_EQ(cells.size(), 2u);
  EXPECT_EQ(cells[0].time, (Interval{0, 40}));
  EXPECT_EQ(cells[0].look, 0u);
  EXPECT_EQ(cells[1].time, (Interval{40, 100}));
  EXPECT_EQ(cells[1].look, 1u);
}

TEST(SampleCells, RegionsWithoutALookTakeThoseOfTheirKind) {
  // Steps of two regions, of which each look meets only one.
  std::vector<SampleRegion> regions;
  for (int64_t step = 0; step < 4; ++step) {
    regions.push_back({{10 * step, 10 * step + 7}, 1});
    regions.push_back({{10 * step + 7, 10 * step + 10}, 2});
  }
  const SampleLook looks[] = {{3, 15}, {18, 15}, {34, 15}};
  const auto cells = find_sample_cells(regions, looks);
  for (const SampleCell& cell : cells) {
    const bool is_of_kind_2 = cell.look == 1;
    EXPECT_EQ(regions[cell.region].kind == 2, is_of_kind_2) << cell.time.begin_ns;
  }
  EXPECT_EQ(total_by_look(cells)[1], 4 * 3);
}

TEST(SampleCells, ARegionWithALookTakesNoneOfItsNeighbours) {
  const SampleRegion regions[] = {{{0, 100}, 1}, {{100, 110}, 2}, {{110, 210}, 1}};
  const SampleLook looks[] = {{95, 100}, {200, 100}};
  const auto cells = find_sample_cells(regions, looks);
  ASSERT_EQ(cells.size(), 3u);
  EXPECT_EQ(cells[0].look, 0u);
  EXPECT_EQ(cells[2].time, (Interval{110, 210}));
  EXPECT_EQ(cells[2].look, 1u);
}

TEST(SampleCells, CellsCoverAllRegionsInOrder) {
  std::vector<SampleRegion> regions;
  std::vector<SampleLook> looks;
  for (int64_t i = 0; i < 300; ++i) {
    regions.push_back({{7 * i, 7 * i + 7}, static_cast<uint64_t>(i % 3)});
    if (i % 5 == 0) looks.push_back({7 * i + i % 7, 35});
  }
  int64_t at_ns = 0;
  for (const SampleCell& cell : find_sample_cells(regions, looks)) {
    EXPECT_EQ(cell.time.begin_ns, at_ns);
    EXPECT_GT(cell.time.end_ns, at_ns);
    at_ns = cell.time.end_ns;
  }
  EXPECT_EQ(at_ns, 7 * 300);
}

TEST(SampleCells, ALookDoesNotReachFarBeyondItsWeight) {
  const SampleRegion regions[] = {{{0, 1000}, 1}};
  const SampleLook looks[] = {{500, 10}};
  const auto cells = find_sample_cells(regions, looks);
  ASSERT_EQ(cells.size(), 3u);
  EXPECT_EQ(cells[0].look, kNoLook);
  EXPECT_EQ(cells[1].time, (Interval{450, 550}));
  EXPECT_EQ(cells[2].look, kNoLook);
}

TEST(SampleCells, WithoutLooksARegionStaysEmpty) {
  const SampleRegion regions[] = {{{0, 10}, 1}, {{10, 20}, 2}};
  const auto cells = find_sample_cells(regions, {});
  ASSERT_EQ(cells.size(), 2u);
  EXPECT_EQ(cells[0].look, kNoLook);
  EXPECT_TRUE(find_sample_cells({}, {}).empty());
}

}  // namespace
}  // namespace stepscope
