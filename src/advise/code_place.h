// Where in the program something is: functions of the user's own code told from those of libraries,
// and "file:line function" for findings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/ids.h"
#include "trace/trace.h"

namespace stepscope {

// A mark of our collector for PyTorch: backward, fetch, collate, checkpoint.
bool is_phase_mark(const Trace& trace, const Label& label, std::string_view name);

// Which labels are functions of the program's own. Found once per trace.
class UserCode {
 public:
  explicit UserCode(const Trace& trace);
  bool is_user_function(LabelId label) const { return is_user_[index(label)]; }
  // [f(x) for x in y] is a function to the interpreter (until 3.12); to the user it is part of the
  // one that it stands in, and here it is none.
  bool is_comprehension(LabelId label) const { return is_comprehension_[index(label)]; }
  bool is_torch_function(LabelId label) const { return is_torch_[index(label)]; }
  bool is_garbage_collection(LabelId label) const { return is_garbage_collection_[index(label)]; }

 private:
  std::vector<bool> is_user_, is_comprehension_, is_torch_, is_garbage_collection_;  // by label
};

// "train.py:41 augment"; "" for what is no function. Files are relative to the folder that the
// program ran in where they lie in it.
std::string describe_place(const Trace& trace, LabelId label);

}  // namespace stepscope
