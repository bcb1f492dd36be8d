#include <gtest/gtest.h>

#include "analyze/hand_made_trace.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

Table make(HandMadeTrace& made, const TableOptions& options = {}) {
  const Trace trace = made.build();
  Result<Table> table = modules(trace, options);
  EXPECT_TRUE(table.ok()) << table.status().message();
  return *std::move(table);
}

SliceRef add_module(HandMadeTrace& made, std::string_view name, int64_t start_ns, int64_t dur_ns) {
  return made.add(made.thread(), name, "nn_module", SliceKind::kPython, start_ns, dur_ns);
}

TEST(Modules, CallsTimesAndOperatorsAreCountedByName) {
  HandMadeTrace made;
  for (const int64_t at_ns : {0, 1000}) {
    add_module(made, "nn.Module: Net", at_ns, 500);
    made.python("net.py(3): forward", at_ns + 10, 480);
    add_module(made, "nn.Module: body.0 (Linear)", at_ns + 20, 200);
    made.op("aten::linear", at_ns + 30, 150);
    made.op("aten::addmm", at_ns + 40, 100);
    made.op("aten::relu", at_ns + 300, 50);
  }
  made.op("aten::mse_loss", 600, 50);
  const Table table = make(made);
  ASSERT_EQ(table.rows(), 2u);
  EXPECT_EQ(int_of(table, "Net", "calls"), 2);
  EXPECT_EQ(int_of(table, "Net", "self_host_ns"), 600);
  EXPECT_EQ(int_of(table, "Net", "total_host_ns"), 1000);
  EXPECT_EQ(int_of(table, "Net", "operators"), 6);
  EXPECT_EQ(int_of(table, "body.0", "self_host_ns"), 400);
  EXPECT_EQ(int_of(table, "body.0", "operators"), 4);
  EXPECT_EQ(table.find("class")->get_string(find_row(table, "name", "body.0")), "Linear");
  EXPECT_EQ(table.find("class")->get_string(find_row(table, "name", "Net")), "Net");
}

TEST(Modules, KinetosNumbersAreNoPartOfTheClass) {
  HandMadeTrace made;
  made.python("nn.Module: Conv2d_12", 0, 10);
  made.python("nn.Module: Odd_", 20, 10);
  const Table table = make(made);
  EXPECT_EQ(table.find("class")->get_string(find_row(table, "name", "Conv2d_12")), "Conv2d");
  EXPECT_TRUE(table.find("class")->is_null(find_row(table, "name", "Odd_")));
}

TEST(Modules, LightningsScopesAreCallsToo) {
  HandMadeTrace made;
  made.annotation("[pl][module]torch.nn.modules.linear.Linear: net.0", 0, 10);
  made.annotation("[pl][module]odd", 20, 10);
  const Table table = make(made);
  EXPECT_EQ(table.find("class")->get_string(find_row(table, "name", "net.0")), "Linear");
  EXPECT_EQ(int_of(table, "odd", "calls"), 1);
}

TEST(Modules, ModuleWithinItselfCountsItsTimeAndOperatorsOnce) {
  HandMadeTrace made;
  add_module(made, "nn.Module: tree (Node)", 0, 100);
  add_module(made, "nn.Module: tree (Node)", 10, 50);
  made.op("aten::add", 20, 10);
  const Table table = make(made);
  EXPECT_EQ(int_of(table, "tree", "calls"), 2);
  EXPECT_EQ(int_of(table, "tree", "total_host_ns"), 100);
  EXPECT_EQ(int_of(table, "tree", "self_host_ns"), 100);
  EXPECT_EQ(int_of(table, "tree", "operators"), 1);
}

TEST(Modules, RangeTakesCallsThatStartInIt) {
  HandMadeTrace made;
  add_module(made, "nn.Module: a (A)", 0, 10);
  add_module(made, "nn.Module: b (B)", 100, 10);
  TableOptions options;
  options.range = {50, 200};
  const Table table = make(made, options);
  ASSERT_EQ(table.rows(), 1u);
  EXPECT_EQ(table.find("name")->get_string(0), "b");
}

TEST(Modules, WithoutModulesANoteSaysHowToRecordThem) {
  HandMadeTrace made;
  made.op("aten::mm", 0, 10);
  const Table table = make(made);
  EXPECT_EQ(table.rows(), 0u);
  EXPECT_EQ(table.notes.size(), 1u);
}

}  // namespace
}  // namespace stepscope
