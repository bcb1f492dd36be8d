// Decodes the bytes of a `.prof`: a pstats dictionary in Python's marshal format, versions 2 to 4
// (and Python 2's). Only the few types that such a file needs are known, and each only where it
// belongs, so that nothing can nest deeper than the dictionary does; memory is bounded by the size
// of the file. Nothing of it is executed.
//
//   dict   '{' key value … '0'         tuple  ')' u8 count, '(' u32 count
//   text   'z' 'Z' u8 length; 'a' 'A' 'u' 't' 's' u32 length
//   int    'i' i32; 'I' i64; 'l' i32 digits, negative for a negative number; digits of 15 bits
//   float  'g' f64; 'f' u8 length, decimal text
//   again  'r' u32: an object that was marked (the type's highest bit) before; 'R' u32: a 't'
//   before
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "trace/call_profile.h"

namespace stepscope {

// Whether the bytes may be the begin of such a file.
bool looks_like_prof(std::string_view head);

// `name` is for messages: "x.prof: byte 17: expected a text, found the type 0x4e".
Result<CallProfile> decode_prof(std::string_view bytes, const std::string& name);

}  // namespace stepscope
