#include "analyze/pattern.h"

#include <re2/re2.h>

#include <string>
#include <utility>

namespace stepscope {

Pattern::Pattern(std::unique_ptr<re2::RE2> regex) : regex_(std::move(regex)) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

Result<Pattern> Pattern::make(std::string_view expression, const PatternOptions& options) {
  re2::RE2::Options settings;
  settings.set_log_errors(false);
  settings.set_literal(options.is_plain);
  settings.set_case_sensitive(!options.ignores_case);
  auto regex =
      std::make_unique<re2::RE2>(re2::StringPiece(expression.data(), expression.size()), settings);
  if (!regex->ok()) {
    return Status::error("bad regular expression '" + std::string(expression) +
                         "': " + regex->error());
  }
  return Pattern(std::move(regex));
}

bool Pattern::matches(std::string_view text) const {
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *regex_);
}

}  // namespace stepscope
