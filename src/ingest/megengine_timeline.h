// What is special about MegEngine's chrome_timeline.json, which otherwise is a Chrome trace: when
// it began, and two counters whose names are misspelt in its files.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stepscope {

// From the value of "metadata": {"localTime": "1794770668251341110"}, ns since 1970.
std::optional<int64_t> find_megengine_local_time(std::string_view metadata_json);

// "gpu_usgae_ratio" is gpu_usage_ratio, "nr_redunant_tensor" is nr_redundant_tensor; any other is
// itself.
std::string_view correct_counter_name(std::string_view name);

}  // namespace stepscope
