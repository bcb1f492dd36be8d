// The colour of a name in pictures: a number below `colours`, the same in every run and file. Names
// that differ only in the number at their end (ProfilerStep#5) have the same.
#pragma once

#include <cstdint>
#include <string_view>

namespace stepscope {

inline uint32_t colour_of_name(std::string_view name, uint32_t colours) {
  const size_t last = name.find_last_not_of("0123456789");
  if (last != std::string_view::npos) name = name.substr(0, last + 1);
  uint32_t hash = 2166136261u;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return (hash ^ hash >> 15) % colours;
}

}  // namespace stepscope
