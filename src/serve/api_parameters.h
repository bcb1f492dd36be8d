// The parameters of a request, read with their limits. An error names the parameter and what it may
// be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "serve/api.h"

namespace stepscope::serve {

// The first of that name; nothing where there is none.
std::optional<std::string_view> find_text(const ApiRequest& request, std::string_view name);
// "" where there is none.
std::string get_text(const ApiRequest& request, std::string_view name);

Result<int64_t> parse_integer(std::string_view name, std::string_view text, int64_t least,
                              int64_t most);
Result<int64_t> get_integer(const ApiRequest& request, std::string_view name, int64_t otherwise,
                            int64_t least, int64_t most);
Result<double> get_fraction(const ApiRequest& request, std::string_view name, double otherwise);
Result<bool> get_flag(const ApiRequest& request, std::string_view name);
// Numbers with commas; not set where there is no such parameter.
Result<std::optional<std::vector<uint32_t>>> get_list(const ApiRequest& request,
                                                      std::string_view name, size_t max_count);

std::vector<std::string_view> split(std::string_view text, char at);

}  // namespace stepscope::serve
