// A label is what a slice is: its name, the category its file gave it, and the kind that the
// analyses go by. A trace of millions of slices has a few hundred labels, so a slice carries one
// 32-bit id for all three, and an analysis decides once per label ("is this a DataLoader scope?"),
// not once per slice.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/ids.h"

namespace stepscope {

enum class SliceKind : uint8_t {
  kOther = 0,
  kInstant,           // a moment: its duration is 0
  kOperator,          // a framework operator on the host: aten::conv2d
  kAnnotation,        // a scope that the user named: record_function
  kStep,              // one training iteration: ProfilerStep#5
  kPython,            // a Python function call
  kCall,              // a function call of any other language
  kRuntime,           // a call of the device's runtime or driver: cudaLaunchKernel
  kKernel,            // on a device stream
  kMemcpy,            // on a device stream
  kMemset,            // on a device stream
  kDeviceAnnotation,  // a user's scope as seen on the device: gpu_user_annotation
  kSync,              // device synchronisation as its own event: cuda_sync
  kOverhead,          // what the profiler itself cost
  kSpan,              // the recording as a whole: Kineto's "Trace" event
};
inline constexpr int kSliceKindCount = 15;

// Sets of kinds: a bit for each.
inline constexpr uint32_t kAllSliceKinds = UINT32_MAX;
constexpr uint32_t slice_kind_bit(SliceKind kind) { return 1u << static_cast<uint32_t>(kind); }

std::string_view kind_name(SliceKind kind);  // "operator", "kernel", …
std::optional<SliceKind> find_kind(std::string_view name);
inline bool is_device_work(SliceKind kind) {
  return kind == SliceKind::kKernel || kind == SliceKind::kMemcpy || kind == SliceKind::kMemset;
}

struct Label {
  StringId name = kEmptyString;
  StringId category = kEmptyString;
  SliceKind kind = SliceKind::kOther;
  friend bool operator==(const Label&, const Label&) = default;
};

class LabelTable {
 public:
  LabelId intern(const Label& label);
  const Label& operator[](LabelId id) const { return labels_[index(id)]; }
  uint32_t size() const { return static_cast<uint32_t>(labels_.size()); }
  const std::vector<Label>& all() const { return labels_; }

 private:
  struct Hash {
    size_t operator()(const Label& label) const;
  };
  std::vector<Label> labels_;
  std::unordered_map<Label, LabelId, Hash> ids_;
};

}  // namespace stepscope
