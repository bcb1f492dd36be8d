#include "collect/torch/operator_labels.h"

namespace stepscope::torch {
namespace {

uint8_t kind_of(std::string_view name, bool is_user_scope) {
  if (!is_user_scope) return STEPSCOPE_OPERATOR;
  return name.starts_with("ProfilerStep#") ? STEPSCOPE_STEP : STEPSCOPE_ANNOTATION;
}

}  // namespace

uint32_t OperatorLabels::find_by_text(const char* name, bool is_user_scope, Entry& entry) {
  const auto [known, is_new] = by_text_[is_user_scope].try_emplace(name, 0);
  if (known->second == 0) {  // no room for it the last time: ask again
    const std::string& text = known->first;
    const std::string_view category = is_user_scope ? "user_annotation" : "cpu_op";
    known->second = current_table()->intern(text.data(), text.size(), category.data(),
                                            category.size(), kind_of(text, is_user_scope));
  }
  if (known->second != 0) entry = {name, known->first.c_str(), known->second, is_user_scope};
  return known->second;
}

}  // namespace stepscope::torch
