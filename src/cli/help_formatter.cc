#include "cli/help_formatter.h"

#include <string_view>
#include <vector>

namespace stepscope::cli {
namespace {

constexpr size_t kIndent = 2;
constexpr size_t kTextColumn = 24;

// `name` at the left, `text` beside it, or below it where the name is long.
std::string format_entry(const std::string& name, const std::string& text) {
  std::string out(kIndent, ' ');
  out += name;
  size_t column = out.size();
  if (column + kIndent > kTextColumn) {
    out += '\n';
    column = 0;
  }
  out.append(kTextColumn - column, ' ');
  column = kTextColumn;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    if (column > kTextColumn && column + 1 + word.size() > kHelpWidth) {
      out += '\n' + std::string(kTextColumn, ' ');
      column = kTextColumn;
    }
    if (column > kTextColumn) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out + '\n';
}

}  // namespace

std::string HelpFormatter::make_description(const CLI::App* app) const {
  return app->get_description() + "\n\n";
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
  std::string usage = "Usage: ";
  if (app->get_parent() != nullptr) usage += app->get_parent()->get_name() + ' ';
  usage += name.empty() ? app->get_name() : name;
  for (const CLI::Option* option : app->get_options(nullptr)) {
    if (!option->get_positional()) continue;
    usage += ' ' + option->get_name(true);
    if (option->get_items_expected_max() > 1 &&
        option->get_name(true).find(' ') == std::string::npos) {
      usage += "...";
    }
  }
  if (!app->get_subcommands(nullptr).empty()) usage += " COMMAND";
  usage += " [OPTIONS]";
  // Only what runs programs takes words that are none of its own.
  if (app->get_prefix_command()) {
    usage +=
        app->get_name() == "run" ? " (SCRIPT | -m MODULE | -c CODE) [ARGS]" : " -- CMD --- CMD";
  }
  return usage + "\n";
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  std::string name = option->get_name(is_positional, true);
  if (const size_t comma = name.find(','); comma != std::string::npos) name.insert(comma + 1, " ");
  if (!is_positional && !option->get_type_name().empty() && option->get_items_expected_max() > 0) {
    // What a validator adds to the type's name is for programmers.
    const std::string type = option->get_type_name();
    name += ' ' + type.substr(0, type.find(':'));
  }
  return format_entry(name, option->get_description());
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  const std::string description = command->get_description();
  return format_entry(command->get_name(), description.substr(0, description.find("\n\n")));
}

}  // namespace stepscope::cli
