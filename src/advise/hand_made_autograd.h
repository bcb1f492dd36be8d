// For tests: training steps with what autograd records: numbered operators, module calls, backward
// nodes with arrows from the operators that made them, gradients, memory. Times are in us.
//
//   HandMadeAutograd made;
//   made.step([&] {
//     HandMadeAutograd::Node node;
//     made.module("Linear", [&] { node = made.forward("aten::addmm", 100); });
//     made.backward([&] {
//       made.node("AddmmBackward0", 200, node);
//       made.accumulate();
//     });
//   });
//   Findings found = made.check(check_missing_no_grad);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "advise/rules.h"
#include "analyze/hand_made_trace.h"

namespace stepscope {

class HandMadeAutograd {
 public:
  struct Node {
    SliceRef slice{};
    int64_t number = 0;
    int64_t start_ns = 0;
  };

  template <typename Body>
  void steps(int count, Body&& body) {
    for (int i = 0; i < count; ++i) step(body);
  }
  template <typename Body>
  void step(Body&& body) {
    around("ProfilerStep#" + std::to_string(step_++), "user_annotation", SliceKind::kStep, body);
  }
  template <typename Body>
  void function(std::string_view name, Body&& body) {
    around("/home/me/train.py(7): " + std::string(name), "python_function", SliceKind::kPython,
           body);
  }
  template <typename Body>
  void module(std::string_view name, Body&& body) {
    around("nn.Module: " + std::string(name), "nn_module", SliceKind::kPython, body);
  }
  template <typename Body>
  void backward(Body&& body) {
    around("backward", "phase", SliceKind::kAnnotation, body);
  }
  template <typename Body>
  void scope(std::string_view name, Body&& body) {
    around(name, "user_annotation", SliceKind::kAnnotation, body);
  }

  // An operator, and one that autograd made a node for.
  SliceRef op(std::string_view name, int64_t dur_us) {
    const SliceRef slice = made.op(name, now_ns_, 1000 * dur_us);
    now_ns_ += 1000 * dur_us;
    return slice;
  }
  Node forward(std::string_view name, int64_t dur_us) {
    Node node{.number = number_, .start_ns = now_ns_};
    node.slice = op(name, dur_us);
    made.set_int(node.slice, "Sequence number", number_++);
    return node;
  }
  // Both of the engine and of the function.
  void node(std::string_view name, int64_t dur_us, const Node& from) {
    const int64_t start_ns = now_ns_;
    made.op("autograd::engine::evaluate_function: " + std::string(name), start_ns, 1000 * dur_us);
    const SliceRef slice = made.op(name, start_ns + 1, 1000 * dur_us - 2);
    TraceBuilder& builder = made.builder();
    builder.add_flow(from.slice, slice, from.start_ns, start_ns + 1,
                     static_cast<uint64_t>(from.number),
                     builder.label("fwdbwd", "fwdbwd", SliceKind::kOther));
    now_ns_ += 1000 * dur_us;
  }
  // A gradient goes to its parameter: written, or added to what is there and given back.
  void accumulate(bool is_added = false, int64_t dur_us = 1, int64_t bytes = 0) {
    made.op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", now_ns_,
            1000 * dur_us);
    made.op("torch::autograd::AccumulateGrad", now_ns_ + 1, 1000 * dur_us - 2);
    if (is_added) made.op("aten::add_", now_ns_ + 2, 1000 * dur_us - 4);
    if (bytes > 0) {
      made.builder().add_allocation(made.thread(),
                                    {.time_ns = now_ns_ + 1000 * dur_us - 2, .bytes = -bytes});
    }
    now_ns_ += 1000 * dur_us;
  }
  void pass(int64_t dur_us) { now_ns_ += 1000 * dur_us; }

  // An operator that takes memory, and memory that is given back after it.
  void op_that_takes(std::string_view name, int64_t dur_us, uint64_t address, int64_t bytes) {
    made.op(name, now_ns_, 1000 * dur_us);
    made.builder().add_allocation(made.thread(),
                                  {.time_ns = now_ns_ + 10, .address = address, .bytes = bytes});
    now_ns_ += 1000 * dur_us;
  }
  void give_back(uint64_t address, int64_t bytes) {
    made.builder().add_allocation(made.thread(),
                                  {.time_ns = now_ns_ + 10, .address = address, .bytes = -bytes});
    now_ns_ += 20;
  }

  // What a rule finds. Uses the trace up.
  Findings check(Rule rule) {
    const Trace trace = made.build();
    const Case c(trace);
    Findings found;
    rule(c, found);
    return found;
  }

  HandMadeTrace made;

 private:
  template <typename Body>
  void around(std::string_view name, std::string_view category, SliceKind kind, Body&& body) {
    const int64_t begin_ns = now_ns_++;
    body();
    made.add(made.thread(), name, category, kind, begin_ns, ++now_ns_ - begin_ns);
  }

  int64_t now_ns_ = 1'000'000;
  int64_t number_ = 0;
  int step_ = 0;
};

}  // namespace stepscope
