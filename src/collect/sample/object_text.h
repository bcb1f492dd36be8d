// object_text(): a Python value of another process as a short text, as repr() would give it but
// within limits: so many characters, levels and items, each told by "…". Objects of other classes
// are `<module.Class at 0x…>`: none of their code is run. What can not be read is "?".
//
//   object_text(objects, address)      // {'lr': 0.001, 'layers': [64, 64, … 6 more]}
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "collect/sample/remote_objects.h"

namespace stepscope::sample {

struct TextLimits {
  size_t max_characters = 120;
  int max_depth = 3;
  size_t max_items = 10;
};

std::string object_text(RemoteObjects& objects, uint64_t object, const TextLimits& limits = {});

// As Python's repr() of it: "1.0", "1e-05", "nan".
std::string float_text(double value);

}  // namespace stepscope::sample
