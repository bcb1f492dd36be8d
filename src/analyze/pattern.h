// Pattern: a user's regular expression (--filter, --track), searched for anywhere in a text. RE2
// does the work: patterns come from users and from the viewer's requests, names from hostile files,
// and RE2 takes time linear in the text and bounded memory and stack for every pattern.
//
//   Result<Pattern> pattern = Pattern::make("conv|gemm");
//   if (!pattern) return pattern.status();   // "bad regular expression 'a(': missing ): a("
//   pattern->matches("aten::conv2d");        // true
#pragma once

#include <memory>
#include <string_view>

#include "base/status.h"

namespace re2 {
class RE2;
}

namespace stepscope {

struct PatternOptions {
  bool is_plain = false;  // a text that stands for itself, not an expression
  bool ignores_case = false;
};

class Pattern {
 public:
  static Result<Pattern> make(std::string_view expression, const PatternOptions& options = {});

  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  bool matches(std::string_view text) const;

 private:
  explicit Pattern(std::unique_ptr<re2::RE2> regex);

  std::unique_ptr<re2::RE2> regex_;
};

}  // namespace stepscope
