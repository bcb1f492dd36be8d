#include <gtest/gtest.h>

#include "advise/hand_made_gpu_loop.h"
#include "advise/rule_for_tests.h"

namespace stepscope::unaligned_matmul_test {
namespace {

// A step that waits for a product of matrices.
Trace make(std::string_view dims, std::string_view types) {
  HandMadeGpuLoop loop;
  for (int i = 0; i < 6; ++i) {
    loop.begin_step().op("aten::mm", "gemm", 100, 900);
    loop.made.set_json(loop.last_op, "Input Dims", dims);
    loop.made.set_json(loop.last_op, "Input type", types);
    loop.synchronize().end_step();
  }
  return loop.made.build();
}

constexpr std::string_view kHalf = R"(["c10::Half","c10::Half"])";

TEST(UnalignedMatmul, FindsSizesThatAreNoMultiplesOf8) {
  const auto finding = find(check_unaligned_matmul, make("[[64,30],[30,1024]]", kHalf));
  ASSERT_TRUE(finding);
  EXPECT_NEAR(finding->at_stake_fraction, 0.37, 0.04);  // 40 % of the kernels
  EXPECT_NE(finding->fix.find("[[64, 30], [30, 1024]]"), std::string::npos);
}

TEST(UnalignedMatmul, MultiplesOf8AreFine) {
  EXPECT_FALSE(find(check_unaligned_matmul, make("[[64,32],[32,1024]]", kHalf)));
}

TEST(UnalignedMatmul, OtherTypesAreOthersProblem) {
  EXPECT_FALSE(find(check_unaligned_matmul, make("[[64,30],[30,1024]]", R"(["float","float"])")));
}

}  // namespace
}  // namespace stepscope::unaligned_matmul_test
