// CodeMark: what the calls of a marked function are recorded as, around the function's own slice:
// a phase ("backward"), or the module that is called.
//
// It hangs on the code object (code_labels.h), over all tracers, and dies with it.
#pragma once

#include <cstdint>
#include <string>

namespace stepscope {

struct CodeMark {
  enum class Means : uint8_t {
    kLabel,           // a slice of this name around each call
    kOutermostLabel,  // the same, but none within one of the same name on the same thread
    kModule,          // a slice named after the call's first argument: module_labels.h
    kArgument,        // none; the function in the argument of this number gets this mark itself
  };

  Means means = Means::kLabel;
  uint8_t kind = 0;       // a StepscopeLabelKind
  uint16_t argument = 0;  // of kArgument
  std::string name;       // empty: of a module
  std::string category;

  // Of the tracer that runs; 0: none, or not met yet.
  uint32_t label = 0;
  uint32_t function_label = 0;  // the function's own slice; 0: the filter leaves it out
};

}  // namespace stepscope
