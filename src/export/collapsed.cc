#include "export/collapsed.h"

#include <algorithm>
#include <utility>

#include "export/json_text.h"
#include "export/output_file.h"
#include "export/stack_export.h"
#include "export/utf8_text.h"

namespace stepscope {

Result<std::vector<std::string>> write_collapsed(const Trace& trace, const std::string& path,
                                                 const ExportOptions& options) {
  const Result<CallTree> tree = build_stacks(trace, options);
  if (!tree) return tree.status();
  auto out = OutputFile::create(path);
  if (!out) return out.status();

  std::vector<std::string> names;  // by function
  for (const CallTree::Function& function : tree->functions()) {
    std::string name;
    append_line(name, frame_text(function));
    std::replace(name.begin(), name.end(), ';', ':');
    names.push_back(std::move(name));
  }
  switch (weight_unit(trace, tree->source())) {
    case WeightUnit::kNs:
      (*out)->append("# stepscope: weights in ns\n");
      break;
    case WeightUnit::kBytes:
      (*out)->append("# stepscope: weights in bytes\n");
      break;
    case WeightUnit::kNone:
      break;
  }
  const uint32_t max_level = find_max_level(*tree);
  std::string line;
  std::vector<size_t>
      ends;  // of each level in the line; the path of a child begins as its parent's
  for_each_stack(*tree, max_level, [&](const Stack& stack) {
    if (!(*out)->ok()) return;
    ends.resize(stack.functions.size() - 1);
    line.resize(ends.empty() ? 0 : ends.back());
    if (!ends.empty()) line += ';';
    line += names[stack.functions.back()];
    ends.push_back(line.size());
    if (stack.own_ns == 0) return;
    line += ' ';
    json::append_int(line, stack.own_ns);
    line += '\n';
    (*out)->append(line);
  });
  if (Status status = (*out)->finish(); !status) return status;
  return describe_left_out(trace, *tree, max_level);
}

}  // namespace stepscope
