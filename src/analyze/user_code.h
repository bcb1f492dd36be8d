// Which code is the program's own, by the file that it is in, and not a library's.
#pragma once

#include <string_view>

namespace stepscope {

// Code of the interpreter or of an installed package: nothing that the user would change.
bool is_library_file(std::string_view file);

// [f(x) for x in y] is a function to the interpreter (until 3.12); to the user it is part of the
// one that it stands in.
bool is_comprehension_name(std::string_view name);

}  // namespace stepscope
