// For tests: a training loop, piece by piece on one thread, with 10 ns of nothing between pieces.
//
//   HandMadeLoop loop;
//   loop.fetch().forward().backward().optimize();     // one step: 100 + 50 + 80 + 30 ns
//   Trace trace = loop.made.build();
#pragma once

#include <cstdint>
#include <string_view>

#include "analyze/hand_made_trace.h"

namespace stepscope {

class HandMadeLoop {
 public:
  static constexpr int64_t kFetchNs = 100;
  static constexpr int64_t kForwardNs = 50;
  static constexpr int64_t kBackwardNs = 80;  // two nodes of 35 with a gap
  static constexpr int64_t kOptimizerNs = 30;
  static constexpr int64_t kGapNs = 10;

  HandMadeTrace made;
  int64_t now_ns = 1000;

  HandMadeLoop& fetch() {
    made.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", now_ns,
                    kFetchNs);
    made.op("aten::stack", now_ns + 20, 40);
    return pass(kFetchNs);
  }
  HandMadeLoop& forward() { return op("aten::linear", kForwardNs); }
  HandMadeLoop& backward() {
    made.op("autograd::engine::evaluate_function: NllLossBackward0", now_ns, 35);
    made.op("autograd::engine::evaluate_function: AddmmBackward0", now_ns + 45, 35);
    made.op("aten::mm", now_ns + 50, 20);
    return pass(kBackwardNs);
  }
  HandMadeLoop& optimize(std::string_view name = "Optimizer.step#SGD.step") {
    made.annotation(name, now_ns, kOptimizerNs);
    made.op("aten::_foreach_add_", now_ns + 5, 20);
    return pass(kOptimizerNs);
  }
  HandMadeLoop& zero_grad() {
    made.annotation("Optimizer.zero_grad#SGD.zero_grad", now_ns, 5);
    return pass(5);
  }
  HandMadeLoop& op(std::string_view name, int64_t dur_ns) {
    made.op(name, now_ns, dur_ns);
    return pass(dur_ns);
  }
  HandMadeLoop& pass(int64_t dur_ns) {
    now_ns += dur_ns + kGapNs;
    return *this;
  }
};

}  // namespace stepscope
