// HelpFormatter: how --help looks. The description (a sentence and examples) comes first; options
// and their explanations are wrapped to kHelpWidth columns; commands are listed with their first
// sentence.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstddef>
#include <string>

namespace stepscope::cli {

inline constexpr size_t kHelpWidth = 100;

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
};

}  // namespace stepscope::cli
