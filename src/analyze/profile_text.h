// What MegEngine's profile_analyze prints of a profile, in its own layout.
#pragma once

#include <string>

#include "analyze/profile_analyze.h"

namespace stepscope {

struct ProfileTextOptions {
  bool is_wiki = false;         // --confluence
  bool only_operators = false;  // --dump-only-opr
};

// Total times, and those of copies.
std::string profile_summary(const ProfileAnalysis& analysis, const ProfileTextOptions& options);
// The rows. Traces that are no static profile of MegEngine have a column more: what holds them up.
std::string profile_rows(const ProfileAnalysis& analysis, bool of_host,
                         const ProfileTextOptions& options);

}  // namespace stepscope
