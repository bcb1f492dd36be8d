#include "collect/sample/object_layout.h"

#include <algorithm>
#include <array>

namespace stepscope::sample {
namespace {

// offsetof() of CPython's own headers; of tasks, found in their memory.
constexpr ObjectLayout k38 = {
    .has_tagged_int = false,
    .has_small_keys = false,
    .managed_dict = ManagedDict::kNone,
    .type = {.qualified_name = 864, .cached_keys = 872},
    .function = {.qualified_name = 104, .closure = 48},
    .code = {.arguments = 16,
             .keyword_arguments = 24,
             .flags = 36,
             .bytecode = 48,
             .free_names = 80,
             .cell_names = 88},
    .frame = {.names = 56, .stack = 64, .stack_top = 72, .state = kNowhere},
    .task = {.state = 72, .waits_for = 104, .coroutine = 112, .name = 120},
};

constexpr ObjectLayout make_39() {
  ObjectLayout layout = k38;
  layout.type = {.qualified_name = 856, .cached_keys = 864};
  layout.task = {.state = 80, .waits_for = 144, .coroutine = 152, .name = 160};
  return layout;
}

constexpr ObjectLayout make_310() {
  ObjectLayout layout = k38;
  layout.function = {.qualified_name = 40, .closure = 72};
  layout.frame = {.names = 56, .stack = 64, .stack_top = 80, .state = 108};
  layout.task = {.state = 88, .waits_for = 152, .coroutine = 160, .name = 168};
  return layout;
}

constexpr ObjectLayout k311 = {
    .has_tagged_int = false,
    .has_small_keys = true,
    .managed_dict = ManagedDict::kTwoPointers,
    .type = {.qualified_name = 864, .cached_keys = 872},
    .function = {.qualified_name = 40, .closure = 72},
    .code = {.arguments = 56,
             .keyword_arguments = 64,
             .flags = 48,
             .bytecode = kNowhere,
             .free_names = kNowhere,
             .cell_names = kNowhere},
    .frame = {.names = 24, .stack = kNowhere, .stack_top = 64, .state = kNowhere},
    .task = {.state = 88, .waits_for = 128, .coroutine = 136, .name = 144},
};

constexpr ObjectLayout make_312() {
  ObjectLayout layout = k311;
  layout.has_tagged_int = true;
  layout.managed_dict = ManagedDict::kTaggedOne;
  layout.type = {.qualified_name = 872, .cached_keys = 880};
  layout.code.arguments = 52;
  layout.code.keyword_arguments = 60;
  layout.frame.names = 40;
  return layout;
}

constexpr ObjectLayout make_313() {
  ObjectLayout layout = make_312();
  layout.managed_dict = ManagedDict::kInlineValues;
  layout.task = {.state = 96, .waits_for = 112, .coroutine = 120, .name = 128};
  return layout;
}

constexpr std::array kLayouts = {k38, make_39(), make_310(), k311, make_312(), make_313()};

}  // namespace

const ObjectLayout& object_layout(PythonVersion version) {
  const int last = static_cast<int>(kLayouts.size()) - 1;
  return kLayouts[static_cast<size_t>(std::clamp(version.minor - 8, 0, last))];
}

}  // namespace stepscope::sample
