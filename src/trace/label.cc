#include "trace/label.h"

#include <array>

namespace stepscope {
namespace {

constexpr std::array<std::string_view, kSliceKindCount> kKindNames = {
    "other",  "instant", "operator", "annotation",        "step", "python",   "call", "runtime",
    "kernel", "memcpy",  "memset",   "device_annotation", "sync", "overhead", "span",
};

}  // namespace

std::string_view kind_name(SliceKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

std::optional<SliceKind> find_kind(std::string_view name) {
  for (size_t i = 0; i < kKindNames.size(); ++i) {
    if (kKindNames[i] == name) return static_cast<SliceKind>(i);
  }
  return std::nullopt;
}

size_t LabelTable::Hash::operator()(const Label& label) const {
  const uint64_t key = (uint64_t{index(label.name)} << 32 | index(label.category)) ^
                       (uint64_t{static_cast<uint8_t>(label.kind)} << 58);
  return static_cast<size_t>((key * 0x9E3779B97F4A7C15ull) ^ (key >> 29));
}

LabelId LabelTable::intern(const Label& label) {
  const auto [it, is_new] = ids_.try_emplace(label, LabelId{size()});
  if (is_new) labels_.push_back(label);
  return it->second;
}

}  // namespace stepscope
