#include "analyze/text_value.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(TextOfNs, HasFourDigitsAndTheUnitThatFits) {
  EXPECT_EQ(text_of_ns(0), "0 ns");
  EXPECT_EQ(text_of_ns(831), "831 ns");
  EXPECT_EQ(text_of_ns(1204), "1.204 us");
  EXPECT_EQ(text_of_ns(98'589'000), "98.59 ms");
  EXPECT_EQ(text_of_ns(177'592'000), "177.6 ms");
  EXPECT_EQ(text_of_ns(999'960'000), "1.000 s");
  EXPECT_EQ(text_of_ns(-1500), "-1.500 us");
  EXPECT_EQ(text_of_ns(3'720'000'000'000), "1 h 02 min");
  EXPECT_EQ(text_of_ns(INT64_MAX), "106752.0 days");
  EXPECT_EQ(text_of_ns(INT64_MIN), "-106752.0 days");
}

TEST(TextOfBytes, UsesBinaryUnits) {
  EXPECT_EQ(text_of_bytes(0), "0 B");
  EXPECT_EQ(text_of_bytes(1023), "1023 B");
  EXPECT_EQ(text_of_bytes(1536), "1.50 KiB");
  EXPECT_EQ(text_of_bytes(-(int64_t{5} << 20)), "-5.00 MiB");
  EXPECT_EQ(text_of_bytes(34'084'028'416), "31.7 GiB");
}

TEST(TextOfCount, SeparatesThousands) {
  EXPECT_EQ(text_of_count(0), "0");
  EXPECT_EQ(text_of_count(999), "999");
  EXPECT_EQ(text_of_count(75718), "75,718");
  EXPECT_EQ(text_of_count(-1234567), "-1,234,567");
}

TEST(TextOfFraction, IsAPercentage) {
  EXPECT_EQ(text_of_fraction(0), "0%");
  EXPECT_EQ(text_of_fraction(0.0001), "<0.1%");
  EXPECT_EQ(text_of_fraction(0.5551), "55.5%");
  EXPECT_EQ(text_of_fraction(1), "100.0%");
}

TEST(ColumnTitle, IsTheNameInWordsWithoutItsUnit) {
  EXPECT_EQ(column_title(Column("self_host_ns", ColumnType::kInt, Unit::kNs)), "self host");
  EXPECT_EQ(column_title(Column("self_memory_bytes", ColumnType::kInt, Unit::kBytes)),
            "self memory");
  EXPECT_EQ(column_title(Column("fraction", ColumnType::kDouble, Unit::kFraction)), "share");
  EXPECT_EQ(column_title(Column("busy_fraction", ColumnType::kDouble, Unit::kFraction)), "busy %");
  EXPECT_EQ(column_title(Column("dur_ns", ColumnType::kInt, Unit::kNone)), "dur ns");
}

}  // namespace
}  // namespace stepscope
