#include "trace/call_profile.h"

namespace stepscope {

size_t CallProfile::Hash::operator()(const Function& function) const {
  const uint64_t key = uint64_t{index(function.file)} << 32 | index(function.name);
  return static_cast<size_t>((key ^ static_cast<uint64_t>(function.line) << 17) *
                             0x9E3779B97F4A7C15ull);
}

uint32_t CallProfile::add_function(const Function& function) {
  const auto [it, is_new] =
      functions_by_key_.try_emplace(function, static_cast<uint32_t>(functions_.size()));
  if (is_new) {
    functions_.push_back(function);
    entry_of_.push_back(kNone);
  }
  return it->second;
}

CallProfile::Entry& CallProfile::add_entry(uint32_t function) {
  uint32_t& at = entry_of_[function];
  if (at == kNone) {
    at = static_cast<uint32_t>(entries_.size());
    entries_.push_back({function, {}, {}});
  }
  return entries_[at];
}

}  // namespace stepscope
