// The exception table of a code object, from 3.11 on: how deep a frame's stack of values is at
// least while one of its instructions runs. Within `with a:` that is deep enough to hold a's
// `__exit__`.
//
// An entry is four numbers: the first instruction, how many, the handler, and the depth with a bit
// below it. A number is big-endian in groups of six bits; 0x40 says that another group follows,
// 0x80 that an entry begins.
//
//   size_t values = find_stack_depth(table, instruction);
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stepscope::sample {

// `instruction` is an offset in bytes. 0 where no handler is in force, or the table is no table.
size_t find_stack_depth(std::span<const uint8_t> table, int32_t instruction);

}  // namespace stepscope::sample
