// What counts as an operator, a launch, input, communication. Decided once per label, from what the
// trace itself says, so that both of PyTorch's own tools find their figures again:
//
// - Exporters since torch 1.12 tell operators ("cpu_op") from annotations ("user_annotation").
// Their
//   traces follow torch.profiler's key_averages(): operators, annotations, Python functions, calls
//   of the device's runtime and the profiler's own overhead are rows and hold each other;
//   ProfilerStep#5 is counted as "ProfilerStep*"; the profiler's own bookkeeping operators are
//   looked through.
// - Older exporters put everything under "Operator". Their traces follow the TensorBoard plugin:
// steps,
//   DataLoader, optimizer and DataParallel scopes hold operators but are no rows; neither are
//   runtime calls, whose time is taken off the self time of the operator that made them.
//
// - Our own recordings follow torch.profiler's too, but have a view of their own for functions:
//   Python calls, modules, steps and the marks of phases are no rows. So do TensorFlow's and JAX's.
//
// In all, a scope whose only child has its own name is one call with it (a dispatcher's detour),
// and device work belongs to the innermost operator or annotation that its launch was made in.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/ids.h"
#include "trace/label.h"
#include "trace/string_pool.h"
#include "trace/trace.h"

namespace stepscope {

enum class HostRole : uint8_t {
  kNone = 0,       // not part of the host's tree of operators
  kOperator,       // a row; what is launched in it is its own
  kScope,          // holds others and owns launches, but is no row
  kPython,         // a row; what is launched in it belongs to the operator around it
  kRuntime,        // a row that launches
  kHiddenRuntime,  // launches, but is no row
};

class OperatorRules {
 public:
  // Labels that come later (a stream's tables grow) have no role until it is made anew.
  OperatorRules(const StringPool& strings, const LabelTable& labels, bool is_recording = false);
  explicit OperatorRules(const Trace& trace)
      : OperatorRules(trace.strings(), trace.labels(), trace.format() == kRecordingFormat) {}

  HostRole role(LabelId label) const { return entries_[index(label)].role; }
  // The name that the label is counted under: the same for all labels of one row. All steps go
  // under that of the first, and are called "ProfilerStep*".
  StringId row_name(LabelId label) const { return entries_[index(label)].row_name; }
  // Whether the operator's work could run on Tensor Cores (TensorBoard's list).
  bool is_tensor_core_eligible(LabelId label) const { return entries_[index(label)].eligible; }
  bool is_annotation(LabelId label) const { return entries_[index(label)].annotation; }
  bool is_legacy() const { return is_legacy_; }
  bool has_operators() const { return has_operators_; }

 private:
  struct Entry {
    StringId row_name = kEmptyString;
    HostRole role = HostRole::kNone;
    bool eligible = false;
    bool annotation = false;
  };
  Entry make_entry(const StringPool& strings, const Label& label);

  std::vector<Entry> entries_;
  StringId first_step_ = kEmptyString;
  bool is_legacy_ = false;
  bool has_operators_ = false;
  bool is_recording_ = false;
};

// How torch calls all steps together.
inline constexpr std::string_view kStepRowName = "ProfilerStep*";
bool is_step_name(std::string_view name);  // ProfilerStep#5

// nccl:all_reduce, gloo:broadcast, and those of other backends: xccl:all_reduce, hccl:all_to_all
bool is_communication_scope(std::string_view name);
// ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem), ncclDevKernel_…; RCCL's, HCCL's, oneCCL's,
// and those of libraries that go without.
bool is_communication_kernel(std::string_view name);
// Kernels that are known to use Tensor Cores, by parts of their name.
bool uses_tensor_cores(std::string_view kernel_name);

}  // namespace stepscope
