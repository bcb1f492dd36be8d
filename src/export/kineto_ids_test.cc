#include "export/kineto_ids.h"

#include <gtest/gtest.h>

#include <string>

#include "trace/trace_builder.h"

namespace stepscope {
namespace {

class KinetoIdsTest : public testing::Test {
 protected:
  void add(const std::string& name, const std::string& category, SliceKind kind, int64_t start_ns,
           int64_t dur_ns) {
    builder_.add_slice(builder_.add_thread({1}, {1}), start_ns, dur_ns,
                       builder_.label(name, category, kind));
  }
  void add_call(const std::string& name, int64_t start_ns, int64_t dur_ns) {
    add(name, "python_function", SliceKind::kPython, start_ns, dur_ns);
  }
  void add_module(const std::string& name, int64_t start_ns, int64_t dur_ns) {
    add("nn.Module: " + name, "nn_module", SliceKind::kPython, start_ns, dur_ns);
  }

  TraceBuilder builder_;
};

TEST_F(KinetoIdsTest, FindsTheCallAroundACallThroughOtherSlices) {
  add_call("train", 0, 100);
  add("scope", "user_annotation", SliceKind::kAnnotation, 10, 80);
  add_module("Net", 20, 50);
  add_call("forward", 30, 10);
  const Trace trace = std::move(builder_).finish();
  KinetoIds ids(trace);
  EXPECT_EQ(ids.find_python_ids(3)->parent_id, 3u);
  EXPECT_EQ(ids.find_python_ids(2)->parent_id, 1u);
  EXPECT_EQ(ids.find_python_ids(2)->module_id, 0);
  EXPECT_EQ(ids.find_python_ids(0)->parent_id, 0u);
  EXPECT_EQ(ids.find_python_ids(0)->module_id, -1);
  EXPECT_FALSE(ids.find_python_ids(1));
  EXPECT_EQ(KinetoIds::external_id(1), 2u);
}

TEST_F(KinetoIdsTest, NumbersModulesForEachClass) {
  add_module("Net", 0, 10);
  add_module("head (Linear)", 20, 10);
  add_module("body.0 (Linear)", 40, 10);
  add_module("head (Linear)", 60, 10);
  const Trace trace = std::move(builder_).finish();
  KinetoIds ids(trace);
  const auto module_id = [&](uint32_t row) { return ids.find_python_ids(row)->module_id; };
  EXPECT_EQ(module_id(0), 0);
  EXPECT_EQ(module_id(1), 0);
  EXPECT_EQ(module_id(2), 1);
  EXPECT_EQ(module_id(3), 0);
}

TEST_F(KinetoIdsTest, LeavesPythonsIdsOutWhereThereAreNoModules) {
  add_call("main", 0, 100);
  const Trace trace = std::move(builder_).finish();
  EXPECT_FALSE(KinetoIds(trace).has_ids(SliceKind::kPython));
  EXPECT_TRUE(KinetoIds(trace).has_ids(SliceKind::kOperator));
}

}  // namespace
}  // namespace stepscope
