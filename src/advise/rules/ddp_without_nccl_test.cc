#include <gtest/gtest.h>

#include <initializer_list>
#include <string_view>

#include "advise/hand_made_gpu_loop.h"
#include "advise/rule_for_tests.h"

namespace stepscope::ddp_without_nccl_test {
namespace {

Trace make(std::string_view distributed, std::initializer_list<std::string_view> scopes = {}) {
  HandMadeGpuLoop loop;
  for (const std::string_view scope : scopes) loop.made.annotation(scope, 0, 10);
  for (int i = 0; i < 6; ++i) {
    loop.begin_step();
    loop.made.annotation("DistributedDataParallel.forward", loop.now_us * 1000, 120'000);
    loop.op("aten::mm", "sgemm", 100, 300).synchronize().end_step();
  }
  if (!distributed.empty()) {
    loop.made.builder().add_metadata("distributedInfo", distributed, true);
  }
  return loop.made.build();
}

TEST(DdpWithoutNccl, FiresOverGloo) {
  const auto finding = find(check_ddp_without_nccl, make(R"({"backend": "gloo", "rank": 0})"));
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_NE(finding->title.find("gloo"), std::string::npos);
}

TEST(DdpWithoutNccl, KeepsQuietOverNccl) {
  EXPECT_FALSE(find(check_ddp_without_nccl, make(R"({"backend": "nccl"})")));
  EXPECT_FALSE(find(check_ddp_without_nccl, make(R"({"backend": "cpu:gloo,cuda:nccl"})")));
}

TEST(DdpWithoutNccl, KeepsQuietOverWhatOtherDevicesHaveInItsPlace) {
  EXPECT_FALSE(find(check_ddp_without_nccl, make(R"({"backend": "mtia:hccl,cpu:gloo"})")));
  EXPECT_TRUE(find(check_ddp_without_nccl, make(R"({"backend": "cpu:gloo,cuda:gloo"})")));
}

TEST(DdpWithoutNccl, ScopesTellTheBackendWhereTheTraceDoesNot) {
  EXPECT_TRUE(find(check_ddp_without_nccl, make("", {"gloo:all_reduce"})));
  EXPECT_FALSE(find(check_ddp_without_nccl, make("", {"gloo:barrier", "xccl:all_reduce"})));
}

TEST(DdpWithoutNccl, KeepsQuietWhereTheTraceDoesNotSay) {
  EXPECT_FALSE(find(check_ddp_without_nccl, make("")));
}

}  // namespace
}  // namespace stepscope::ddp_without_nccl_test
