// OperatorObserver: begin and end of every operator, backward node and user's scope of PyTorch, on
// every thread, as records of the recorder. It hears of them through at::RecordFunction, whose
// callbacks are plain functions: so there is one observer in a process.
//
//   OperatorObserver::start({.inputs = true});
//   ...
//   OperatorObserver::stop();
//
// The callbacks take no lock, and no Python object is touched.
#pragma once

#include <cstdint>

namespace stepscope::torch {

struct OperatorObserverOptions {
  bool scopes_only = false;  // the program's own and optimizers' and loaders', but no operators
  bool inputs = false;       // shapes, types, strides and values, at several times the cost
  double sampling = 1;       // the share of the time in which operators are recorded
  uint32_t sample_rate = 0;  // > 0: the memory that is handed out, after every so many operators
};

class OperatorObserver {
 public:
  OperatorObserver() = delete;

  static void start(const OperatorObserverOptions& options);
  static void stop();
  static bool is_running();
  // In a forked child, which has the callbacks, but not the thread that samples.
  static void continue_in_child();
};

}  // namespace stepscope::torch
