// Helpers of the rules about the host: what a kind of slice took on the training thread in the
// steady steps, and which function of the user's it lies in.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "advise/case.h"

namespace stepscope {

struct HostTime {
  int64_t ns = 0;  // of those that are in no other of the kind
  uint64_t count = 0;
  SliceId longest = kNoSlice;
  // The innermost function of the user's around the longest; UINT32_MAX: none is known.
  LabelId function = LabelId{UINT32_MAX};

  bool has_function() const { return function != LabelId{UINT32_MAX}; }
};

// Of the slices of labels that `is_wanted`, on the training thread. In both parts of a step.
HostTime find_host_time(const Case& c, const std::function<bool(const Label&)>& is_wanted);

// The innermost function of the user's around a slice; UINT32_MAX: none.
LabelId find_user_function(const Case& c, SliceId slice);

}  // namespace stepscope
