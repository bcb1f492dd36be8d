// From an instruction of a code object to its line: CPython's tables, which are other ones in 3.8
// (co_lnotab), 3.10 (PEP 626) and 3.11 (locations). A damaged table gives a wrong line or none.
#pragma once

#include <cstdint>
#include <span>

#include "collect/sample/python_layout.h"

namespace stepscope::sample {

// `instruction` is an offset in bytes; below 0 is before the first. 0: the instruction has no line.
int32_t find_line(PythonVersion version, std::span<const uint8_t> table, int32_t first_line,
                  int32_t instruction);

}  // namespace stepscope::sample
