// For tests: a training program's trace, made by hand. Times are in ns.
//
//   TrainingTrace made;
//   made.op("aten::linear", 10, 10, 0);        // with autograd's sequence number 0
//   made.take(12, 0xa, 4096);
//   made.backward_node("AddmmBackward0", 30, 10, 0);
//   made.give_back(35, 0xa, 4096);
//   Trace trace = made.build();
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "trace/trace_builder.h"

namespace stepscope {

class TrainingTrace {
 public:
  static constexpr int64_t kNoNumber = -1;

  TrainingTrace() : thread_(builder_.add_thread(ForeignId{1}, ForeignId{1})) {}

  TraceBuilder& builder() { return builder_; }
  // What follows happens on that thread of that process.
  void on_thread(int64_t process, int64_t thread) {
    thread_ = builder_.add_thread(ForeignId{process}, ForeignId{thread});
  }

  void op(std::string_view name, int64_t start_ns, int64_t dur_ns, int64_t number = kNoNumber) {
    add(name, "cpu_op", SliceKind::kOperator, start_ns, dur_ns, number);
  }
  void backward_node(std::string_view name, int64_t start_ns, int64_t dur_ns, int64_t number) {
    op("autograd::engine::evaluate_function: " + std::string(name), start_ns, dur_ns, number);
  }
  void scope(std::string_view name, int64_t start_ns, int64_t dur_ns) {
    add(name, "user_annotation", SliceKind::kAnnotation, start_ns, dur_ns, kNoNumber);
  }
  void mark(std::string_view name, int64_t start_ns, int64_t dur_ns) {
    add(name, "phase", SliceKind::kAnnotation, start_ns, dur_ns, kNoNumber);
  }
  void optimizer_step(int64_t start_ns, int64_t dur_ns) {
    scope("Optimizer.step#SGD.step", start_ns, dur_ns);
  }
  void zero_grad(int64_t start_ns, int64_t dur_ns) {
    scope("Optimizer.zero_grad#SGD.zero_grad", start_ns, dur_ns);
  }
  void data_loader(int64_t start_ns, int64_t dur_ns) {
    scope("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", start_ns, dur_ns);
  }

  void take(int64_t time_ns, uint64_t address, int64_t bytes) {
    add_allocation(time_ns, address, bytes);
  }
  void give_back(int64_t time_ns, uint64_t address, int64_t bytes) {
    add_allocation(time_ns, address, -bytes);
  }
  // Of the allocations that follow.
  void set_device(int16_t type, int16_t id) {
    device_type_ = type;
    device_id_ = id;
  }
  void set_next_total(int64_t total_bytes) { next_total_bytes_ = total_bytes; }

  Trace build() { return std::move(builder_).finish(); }

 private:
  void add(std::string_view name, std::string_view category, SliceKind kind, int64_t start_ns,
           int64_t dur_ns, int64_t number) {
    const SliceRef slice =
        builder_.add_slice(thread_, start_ns, dur_ns, builder_.label(name, category, kind));
    if (number == kNoNumber) return;
    builder_.add_int(builder_.arg_column("Sequence number", ArgType::kInt), slice, number);
  }
  void add_allocation(int64_t time_ns, uint64_t address, int64_t bytes) {
    builder_.add_allocation(thread_, {.time_ns = time_ns,
                                      .address = address,
                                      .bytes = bytes,
                                      .device_type = device_type_,
                                      .device_id = device_id_,
                                      .total_allocated_bytes = next_total_bytes_});
    next_total_bytes_ = -1;
  }

  TraceBuilder builder_;
  TrackId thread_;
  int16_t device_type_ = 0;
  int16_t device_id_ = -1;
  int64_t next_total_bytes_ = -1;
};

}  // namespace stepscope
