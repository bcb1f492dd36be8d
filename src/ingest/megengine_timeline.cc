#include "ingest/megengine_timeline.h"

#include "ingest/json_text.h"

namespace stepscope {

std::optional<int64_t> find_megengine_local_time(std::string_view metadata_json) {
  constexpr std::string_view kKey = "\"localTime\"";
  size_t at = metadata_json.find(kKey);
  if (at == metadata_json.npos) return std::nullopt;
  at = metadata_json.find_first_not_of(" \t\r\n:", at + kKey.size());
  if (at == metadata_json.npos) return std::nullopt;
  if (metadata_json[at] == '"') ++at;
  const std::string_view rest = metadata_json.substr(at);
  return parse_int(rest.substr(0, rest.find_first_not_of("0123456789")));
}

std::string_view correct_counter_name(std::string_view name) {
  if (name == "gpu_usgae_ratio") return "gpu_usage_ratio";
  if (name == "nr_redunant_tensor") return "nr_redundant_tensor";
  return name;
}

}  // namespace stepscope
