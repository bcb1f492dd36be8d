#include "collect/torch/operator_observer.h"

#include <ATen/record_function.h>
#include <stepscope/record.h>

#include <array>
#include <memory>
#include <optional>

#include "collect/torch/input_encoder.h"
#include "collect/torch/memory_observer.h"
#include "collect/torch/operator_labels.h"
#include "collect/torch/sampling_windows.h"

namespace stepscope::torch {
namespace {

at::CallbackHandle g_handle = at::INVALID_CALLBACK_HANDLE;
OperatorObserverOptions g_options;
SamplingWindows g_windows;
bool g_is_sampled = false;

// The operators that are open on a thread. An end is told by its address: callbacks of a pair may
// come without their partner where a window begins or ends.
class OpenOperators {
 public:
  void push(const at::RecordFunction* function, uint32_t label) {
    if (depth_ < kDepth) open_[depth_] = {function, label};
    ++depth_;
  }
  // The label, 0 where it lay too deep; nothing where it was not pushed.
  std::optional<uint32_t> pop(const at::RecordFunction* function) {
    if (depth_ > kDepth) {
      --depth_;
      return 0;
    }
    // Users' scopes need not end in the order in which they began.
    for (uint32_t at = depth_; at > 0; --at) {
      if (open_[at - 1].function != function) continue;
      const uint32_t label = open_[at - 1].label;
      for (; at < depth_; ++at) open_[at - 1] = open_[at];
      --depth_;
      return label;
    }
    return std::nullopt;
  }
  bool empty() const { return depth_ == 0; }

 private:
  static constexpr uint32_t kDepth = 1000;
  struct Open {
    const at::RecordFunction* function;
    uint32_t label;
  };
  uint32_t depth_ = 0;
  std::array<Open, kDepth> open_;
};

struct ThreadState {
  OperatorLabels labels;
  OpenOperators open;
  InputEncoder inputs;
  uint32_t operators = 0;
  uint64_t torch_number = at::RecordFunction::currentThreadId() & 0xFFFFFF;
};

// A pointer of static TLS, which one instruction reads; the object goes with its thread.
thread_local ThreadState* t_state __attribute__((tls_model("initial-exec"))) = nullptr;

ThreadState& make_state() {
  thread_local std::unique_ptr<ThreadState> state;
  state = std::make_unique<ThreadState>();
  t_state = state.get();
  return *t_state;
}

ThreadState& this_thread() { return t_state != nullptr ? *t_state : make_state(); }

// With what torch itself says of it: which forward operator a backward one belongs to.
void write_begin(const ThreadState& state, const at::RecordFunction& function, uint32_t label) {
  if (function.seqNr() < 0) return current_table()->begin(label);
  const std::array<uint64_t, 2> words = {static_cast<uint64_t>(function.seqNr()),
                                         function.forwardThreadId() << 32 |
                                             static_cast<uint64_t>(function.scope()) << 24 |
                                             state.torch_number};
  current_table()->begin_with(label, STEPSCOPE_OPERATOR_DETAIL, words.data(), words.size());
}

template <bool kHasInputs>
std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  ThreadState& state = this_thread();
  const bool is_async = function.isAsync();
  // A window would wait for the end of an asynchronous one, on whatever thread that is.
  if (g_is_sampled && (is_async || !g_windows.begin(state.open.empty()))) return nullptr;
  const uint32_t label = state.labels.find(function.name(), function.scope());
  if (is_async) [[unlikely]] {
    current_table()->begin_async(label, reinterpret_cast<uintptr_t>(&function));
    return nullptr;
  }
  state.open.push(&function, label);
  write_begin(state, function, label);
  if constexpr (kHasInputs) {
    if (function.num_inputs() > 0) state.inputs.attach(function.inputs());
  }
  return nullptr;
}

void end(const at::RecordFunction& function, at::ObserverContext*) {
  ThreadState& state = this_thread();
  const std::optional<uint32_t> label = state.open.pop(&function);
  if (!label) {
    if (function.isAsync() && !g_is_sampled) {
      current_table()->end_async(reinterpret_cast<uintptr_t>(&function));
    }
    return;
  }
  current_table()->end(*label);
  if (g_is_sampled && state.open.empty()) g_windows.end();
  if (g_options.sample_rate > 0 && ++state.operators % g_options.sample_rate == 0) {
    MemoryObserver::write_counters();
  }
}

}  // namespace

void OperatorObserver::start(const OperatorObserverOptions& options) {
  g_options = options;
  g_is_sampled = options.sampling < 1;
  at::RecordFunctionCallback callback(options.inputs ? &begin<true> : &begin<false>, &end);
  callback.needsInputs(options.inputs);
  // What is not asked for costs nothing: no callback is called for it.
  if (options.scopes_only) callback.scopes({at::RecordScope::USER_SCOPE});
  g_handle = at::addGlobalCallback(callback);
  if (g_is_sampled) g_windows.start(g_handle, options.sampling);
}

void OperatorObserver::stop() {
  if (!is_running()) return;
  if (g_is_sampled) g_windows.stop();
  at::removeCallback(g_handle);
  g_handle = at::INVALID_CALLBACK_HANDLE;
}

bool OperatorObserver::is_running() { return g_handle != at::INVALID_CALLBACK_HANDLE; }

void OperatorObserver::continue_in_child() {
  if (g_is_sampled && is_running()) g_windows.continue_in_child();
}

}  // namespace stepscope::torch
