#include "ingest/id_table.h"

#include <gtest/gtest.h>

#include <string>

namespace stepscope {
namespace {

TEST(IdTable, FindsThingsByAnyId) {
  IdTable<std::string> table;
  const uint64_t ids[] = {UINT64_MAX, 0, 300, 7, uint64_t{1} << 60, 1'000'000};
  for (const uint64_t id : ids) table.add(id, std::to_string(id));
  table.settle();
  for (const uint64_t id : ids) {
    ASSERT_NE(table.find(id), nullptr) << id;
    EXPECT_EQ(*table.find(id), std::to_string(id));
  }
  for (const uint64_t id : {uint64_t{1}, uint64_t{299}, uint64_t{301}, UINT64_MAX - 1}) {
    EXPECT_EQ(table.find(id), nullptr) << id;
  }
}

TEST(IdTable, TheLastOfAnIdWins) {
  IdTable<std::string> table;
  for (const uint64_t id : {uint64_t{5}, uint64_t{1} << 40}) {
    table.add(id, "first");
    table.add(id, "last");
  }
  table.settle();
  EXPECT_EQ(*table.find(5), "last");
  EXPECT_EQ(*table.find(uint64_t{1} << 40), "last");
}

TEST(IdTable, IsEmptyAtFirst) {
  IdTable<std::string> table;
  table.settle();
  EXPECT_EQ(table.find(0), nullptr);
  EXPECT_EQ(table.size(), 0u);
}

}  // namespace
}  // namespace stepscope
