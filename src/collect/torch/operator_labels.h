// OperatorLabels: the recorder's labels of what PyTorch calls by a text, found in a few
// nanoseconds. One for each thread, so without a lock.
//
//   OperatorLabels labels;
//   const uint32_t label = labels.find(function.name(), function.scope());
//
// Most texts lie at one address for good (an operator's name in its schema); backward nodes and
// users' scopes have theirs in memory that is soon something else's. So an address is only where to
// look first: the text there is compared, and where it is another one it is looked up by content.
#pragma once

#include <ATen/record_function.h>
#include <stepscope/record.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>

namespace stepscope::torch {

class OperatorLabels {
 public:
  uint32_t find(const char* name, at::RecordScope scope) {
    const bool is_user_scope = scope == at::RecordScope::USER_SCOPE;
    Entry& entry = entries_[place(name)];
    if (entry.name == name && entry.is_user_scope == is_user_scope &&
        std::strcmp(entry.text, name) == 0) [[likely]] {
      return entry.label;
    }
    return find_by_text(name, is_user_scope, entry);
  }

 private:
  struct Entry {
    const char* name = nullptr;
    const char* text = nullptr;  // our copy
    uint32_t label = 0;
    bool is_user_scope = false;
  };
  using LabelsByText = std::unordered_map<std::string, uint32_t>;

  static size_t place(const char* name) {
    const uint64_t mixed = (reinterpret_cast<uintptr_t>(name) >> 3) * 0x9E3779B97F4A7C15u;
    return mixed >> (64 - 9);
  }

  uint32_t find_by_text(const char* name, bool is_user_scope, Entry& entry);

  std::array<Entry, 512> entries_{};
  std::array<LabelsByText, 2> by_text_;  // operators, users' scopes
};

}  // namespace stepscope::torch
