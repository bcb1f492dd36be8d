#include "analyze/pattern.h"

#include <re2/re2.h>

#include <string>
#include <utility>

namespace stepscope {

Pattern::Pattern(std::unique_ptr<re2::RE2> regex) : regex_(std::move(regex)) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

Result<Pattern> Pattern::make(std::string_view expression) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  auto regex =
      std::make_unique<re2::RE2>(re2::StringPiece(expression.data(), expression.size()), options);
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
