#include "cli/quantity.h"

#include <gtest/gtest.h>

namespace stepscope::cli {
namespace {

TEST(Quantity, DurationsHaveUnits) {
  EXPECT_EQ(*parse_duration_ns("10us"), 10'000);
  EXPECT_EQ(*parse_duration_ns("1.5ms"), 1'500'000);
  EXPECT_EQ(*parse_duration_ns("2m"), 120'000'000'000);
  EXPECT_EQ(*parse_duration_ns("0"), 0);
  EXPECT_EQ(parse_duration_ns("10").status().message(), "'10' needs a unit: ns, us, ms, s or m");
  EXPECT_FALSE(parse_duration_ns("10xs"));
  EXPECT_FALSE(parse_duration_ns("-1s"));
  EXPECT_FALSE(parse_duration_ns("1e300s"));
  EXPECT_FALSE(parse_duration_ns(""));
}

TEST(Quantity, SizesMayBeBareNumbers) {
  EXPECT_EQ(*parse_bytes("4096"), 4096u);
  EXPECT_EQ(*parse_bytes("200MB"), 200'000'000u);
  EXPECT_EQ(*parse_bytes("1.5GB"), 1'500'000'000u);
  EXPECT_EQ(*parse_bytes("1MiB"), 1'048'576u);
  EXPECT_FALSE(parse_bytes("much"));
  EXPECT_FALSE(parse_bytes("5 lbs"));
  EXPECT_FALSE(parse_bytes("99999999999TB"));
}

}  // namespace
}  // namespace stepscope::cli
